// SPDX-License-Identifier: MIT
// Room: plan. The checks at run time, by the same code as at build: on a Program, and on lists that a person writes.
// Sees: plan/coverage, plan/deadlock.  Does not see: policies, processes, threads.
// In: a Program or HandWrittenLists.  Out: Diagnosis.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/plan/coverage.hpp"
#include "heddle/plan/deadlock.hpp"
#include "heddle/plan/slices.hpp"

namespace heddle::inline plan_room {

/// Communication lists written by hand, one per rank: a blocking call is its start and its wait.
class HandWrittenLists {
 public:
  explicit HandWrittenLists(int ranks) : lists_(static_cast<std::size_t>(ranks)) {}

  /// Posts and goes on; the number is what wait() takes.
  int send_start(int rank, int to, std::int64_t elements) { return append(rank, EventKind::send_start, to, -1, elements); }
  int receive_start(int rank, int from, std::int64_t elements) { return append(rank, EventKind::receive_start, from, -1, elements); }
  void wait(int rank, int start) {
    const Event& e = lists_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(start)];
    append(rank, e.kind == EventKind::send_start ? EventKind::send_wait : EventKind::receive_wait, e.peer, start, e.elements);
  }
  /// Blocks until the other side has posted too.
  void send(int rank, int to, std::int64_t elements) { wait(rank, send_start(rank, to, elements)); }
  void receive(int rank, int from, std::int64_t elements) { wait(rank, receive_start(rank, from, elements)); }

  [[nodiscard]] int ranks() const { return static_cast<int>(lists_.size()); }
  [[nodiscard]] const std::vector<std::vector<Event>>& lists() const { return lists_; }

 private:
  int append(int rank, EventKind kind, int peer, int start, std::int64_t elements) {
    auto& list = lists_.at(static_cast<std::size_t>(rank));
    list.push_back(Event{kind, peer, start, elements});
    return static_cast<int>(list.size()) - 1;
  }
  std::vector<std::vector<Event>> lists_;
};

namespace run_time {

[[nodiscard]] inline Diagnosis rendezvous(const EventLists& lists, Lanes lanes) {
  const auto events = static_cast<std::size_t>(lists.begins[lists.roles]) + 1;
  const auto roles = static_cast<std::size_t>(lists.roles);
  std::vector<int> position(roles), head(roles * roles), cursor(roles * roles), partner(events), role(events);
  const auto complete = std::make_unique<bool[]>(events);
  return check_rendezvous(lists, lanes, RendezvousState{position.data(), head.data(), cursor.data(), complete.get(), partner.data(), role.data()});
}

}  // namespace run_time

/// Errors  S03 deadlock with a witness, S04 a transfer without its other end, with another payload, or to a rank that is not there
/// Tested  plan/check_test
[[nodiscard]] inline Diagnosis check(const HandWrittenLists& written, Lanes lanes = Lanes::free) {
  std::vector<Event> events;
  std::vector<int> begins{0};
  for (int r = 0; r < written.ranks(); ++r) {
    const int first = static_cast<int>(events.size());
    for (Event e : written.lists()[static_cast<std::size_t>(r)]) {
      if (e.peer < 0 || e.peer >= written.ranks() || e.peer == r)
        return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " names rank " << e.peer << " as its peer, but there are " << written.ranks()
                                           << " ranks and none sends to itself. Fix: name another rank.";
      if (e.start >= 0) e.start += first;
      events.push_back(e);
    }
    begins.push_back(static_cast<int>(events.size()));
  }
  return run_time::rendezvous(EventLists{events.data(), begins.data(), written.ranks()}, lanes);
}

/// All rules that read a Program: S03, S04, S05, S06, S11.
[[nodiscard]] inline Diagnosis check(const Program& p, Lanes lanes = Lanes::one_per_device) {
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(2 * p.chunks * p.batch.total_micro_batches()));
  if (const Diagnosis found = check_coverage(p, seen.data()); !found.ok()) return found;
  std::vector<std::uint8_t> open(static_cast<std::size_t>(4 * p.chunks * p.batch.total_micro_batches()));
  if (const Diagnosis found = check_waits(p, open.data()); !found.ok()) return found;
  std::vector<BucketCounts> counts(static_cast<std::size_t>(p.bucket_count));
  if (const Diagnosis found = check_reductions(p, counts.data()); !found.ok()) return found;
  if (const Diagnosis found = check_slices(p); !found.ok()) return found;
  std::vector<Event> events;
  std::vector<int> begins;
  for (int r = 0; r < p.roles; ++r) {
    begins.push_back(static_cast<int>(events.size()));
    std::vector<int> start_of_token;
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      Event e;
      const Instruction& line = p.instructions[i];
      if (!communicates(line, p, e)) continue;
      const auto token = static_cast<std::size_t>(line.token);
      if (start_of_token.size() <= token) start_of_token.resize(token + 1, -1);
      if (Rendezvous::starts(e.kind))
        start_of_token[token] = static_cast<int>(events.size());
      else if (start_of_token[token] < 0)
        return Diagnosis{Code{'S', 4}, ""} << "role " << r << " waits at instruction " << i - p.lists[r].begin
                                           << " for a transfer that it never starts. Fix: start it before.";
      else
        e.start = start_of_token[token];
      events.push_back(e);
    }
  }
  begins.push_back(static_cast<int>(events.size()));
  return run_time::rendezvous(EventLists{events.data(), begins.data(), p.roles}, lanes);
}

}  // namespace heddle::inline plan_room
