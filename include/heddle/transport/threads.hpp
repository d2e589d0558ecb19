// SPDX-License-Identifier: MIT
// Room: transport. Ranks that are threads of one process: a transfer is a copy, a collective shared work, nothing is allocated after construction.
// Sees: seams/concepts, seams/error, core.  Does not see: policies, programs, kernels, who the threads are.
// In: ranks, groups, limits, a deadline.  Out: one TransportEndpoint per rank; lane model: free.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/spin_wait.hpp"
#include "heddle/transport/thread_board.hpp"
#include "heddle/transport/thread_waits.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// Transport between the threads of one process. 4 ranks have 4 endpoints and 16 rings of transfers, one for each sender and receiver.
///
/// A transfer is copied by whoever posts last; a collective is done, slice by slice, by whoever waits for it, alone or together. So completion
/// depends on starts only. One thread issues the starts and waits of a rank.
/// Moves   one copy per transfer, one pass over the n buffers per collective; counted as core/ring_volume says    [bytes]
/// Errors  T01 counts or kinds that differ; T02, T03, T04, T05 misuse; RankLost (R01) after the deadline or when a rank was given up; R13 a deadline
///         that is none
/// Tested  transport/threads_test, conformance/transport_threads_test
class Threads {
 public:
  class Endpoint;

  Threads(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline);

  /// For each rank its share of what all of them use: a place for everything that may be pending; stacks of threads are left out.
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) {
    const int n = needs.ranks;
    Bytes share = n * (PairRing::memory(needs.transfers) + 2 * Window::memory(needs.transfers)) + GroupsOfRanks::memory(n, needs.all_groups) / n +
                  SentCounters::memory(needs.all_groups) + needs.all_groups * Window::memory(needs.reductions);
    for (const int members : needs.members)
      if (members > 0) share += GroupRing::memory(members, needs.reductions) / members + Bytes{1};
    return share;
  }
  [[nodiscard]] int ranks() const { return board_.ranks(); }
  [[nodiscard]] Endpoint& endpoint(Rank rank);

  /// What the rank has sent since construction or the last clear_traffic: in all groups, or in one.
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return traffic_.at(static_cast<std::size_t>(rank.value)).sent(kind); }
  [[nodiscard]] Sent sent(Rank rank, Movement kind, int group) const { return traffic_.at(static_cast<std::size_t>(rank.value)).sent(kind, group); }
  void clear_traffic() {
    for (SentCounters& traffic : traffic_) traffic.clear();
  }

  /// Marks a rank as lost: what needs it and is not complete throws RankLost at once, now and later. When this returns nobody reads or writes a
  /// buffer that the rank has given: a rank that stops on an error calls it for itself before its buffers go.
  HEDDLE_COLD void give_up(Rank rank, std::string why) {
    board_.lost().add(rank.value, std::move(why));
    board_.withdraw(rank.value);
  }

  /// Back to the state after construction, traffic excepted. Only when no rank is inside a call.
  void reset();

 private:
  std::chrono::nanoseconds deadline_;
  ThreadBoard board_;
  int spins_;
  RowOf<SentCounters> traffic_;
  RowOf<Endpoint> endpoints_;
};

/// What one rank holds of the transport. Only the rank's own thread calls it.
class Threads::Endpoint {
 public:
  Endpoint(Threads& world, int rank, PendingLimits limits)
      : world_(world), rank_(rank), sends_(windows(world.ranks(), limits.transfers)), receives_(windows(world.ranks(), limits.transfers)),
        collectives_(windows(world.board_.groups().count(), limits.reductions)) {}

  [[nodiscard]] Rank rank() const { return Rank{rank_}; }

  std::int64_t send_start(int peer, const float* source, std::int64_t elements) {
    board().groups().check_transfer(rank_, peer, elements);
    const std::int64_t k = open(sends_, peer, [&](std::int64_t next) { return send(peer, next); });
    traffic().count_send(elements);
    if (board().pair(rank_, peer).post_send(k, source, elements)) board().sleeper(peer).wake();
    return k;
  }
  void send_wait(int peer, std::int64_t k) {
    board().groups().check_transfer(rank_, peer, 0);
    close(sends_, peer, send(peer, k));
  }

  std::int64_t receive_start(int peer, float* target, std::int64_t elements) {
    board().groups().check_transfer(rank_, peer, elements);
    const std::int64_t k = open(receives_, peer, [&](std::int64_t next) { return receive(peer, next); });
    if (board().pair(peer, rank_).post_receive(k, target, elements)) board().sleeper(peer).wake();
    return k;
  }
  void receive_wait(int peer, std::int64_t k) {
    board().groups().check_transfer(rank_, peer, 0);
    close(receives_, peer, receive(peer, k));
  }

  std::int64_t all_reduce_start(int group, float* data, std::int64_t elements, SumOrder = SumOrder::tree) {
    board().groups().check_collective(rank_, group, elements);
    return start(Movement::all_reduce, group, data, data, elements);
  }
  void all_reduce_wait(int group, std::int64_t k) { wait(Movement::all_reduce, group, k); }

  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements, SumOrder = SumOrder::tree) {
    board().groups().check_slices(rank_, group, elements);
    return start(Movement::reduce_scatter, group, whole, slice, elements);
  }
  void reduce_scatter_wait(int group, std::int64_t k) { wait(Movement::reduce_scatter, group, k); }

  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
    board().groups().check_slices(rank_, group, elements);
    return start(Movement::all_gather, group, slice, whole, elements);
  }
  void all_gather_wait(int group, std::int64_t k) { wait(Movement::all_gather, group, k); }

  /// What all have started is passable also where its work is left: whoever waits does it.
  [[nodiscard]] bool passable(const Ticket& ticket) {
    if (ticket.collective()) {
      board().groups().check_collective(rank_, ticket.with, 0);
      return passable(collectives_, ticket.with, GroupWait{board(), ticket.with, Movement::all_reduce, ticket.k});
    }
    board().groups().check_transfer(rank_, ticket.with, 0);
    if (ticket.kind == Ticket::send) return passable(sends_, ticket.with, send(ticket.with, ticket.k));
    return passable(receives_, ticket.with, receive(ticket.with, ticket.k));
  }

 private:
  friend class Threads;

  static RowOf<Window> windows(int count, int limit) {
    return {static_cast<std::size_t>(count), [limit](std::size_t) { return Window{limit}; }};
  }
  [[nodiscard]] SentCounters& traffic() { return world_.traffic_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] ThreadBoard& board() { return world_.board_; }
  [[nodiscard]] PairWait send(int peer, std::int64_t k) { return {board(), rank_, peer, PairRing::send, k}; }
  [[nodiscard]] PairWait receive(int peer, std::int64_t k) { return {board(), rank_, peer, PairRing::receive, k}; }

  std::int64_t start(Movement kind, int group, const float* source, float* target, std::int64_t elements) {
    const std::int64_t k = open(collectives_, group, [&](std::int64_t next) { return GroupWait{board(), group, kind, next}; });
    const int position = board().groups().position(group, rank_);
    traffic().count_collective(group, kind, elements, board().groups().members(group), position);
    if (board().ring(group).post(k, position, {kind, elements}, source, target)) board().wake_group(group);
    return k;
  }
  void wait(Movement kind, int group, std::int64_t k) {
    board().groups().check_collective(rank_, group, 0);
    close(collectives_, group, GroupWait{board(), group, kind, k});
  }

  // A rank that is lost starts nothing more: its buffers may be gone, and the reuse of slots relies on waits that ended well.
  template <class Describe> std::int64_t open(RowOf<Window>& windows, int index, Describe describe) {
    Window& window = windows[static_cast<std::size_t>(index)];
    if (board().lost().contains(rank_)) throw board().lost().error(describe(window.next()).describe(), window.next());
    return window.open([&] { return describe(window.next()).describe(); });
  }

  template <class Wait> void close(RowOf<Window>& windows, int index, const Wait& wait) {
    windows[static_cast<std::size_t>(index)].close(wait.k, [&] { return wait.describe(); });
    if (!wait.done()) await(wait);
    wait.check_counts();
  }

  template <class Wait> [[nodiscard]] bool passable(const RowOf<Window>& windows, int index, const Wait& wait) {
    return !windows[static_cast<std::size_t>(index)].pending(wait.k) || wait.done() || goes_on(wait);
  }
  /// There is work to do, or none that could be waited for.
  template <class Wait> [[nodiscard]] bool goes_on(const Wait& wait) {
    return wait.has_work() || (board().lost().any() && (board().lost().contains(rank_) || wait.hopeless()));
  }

  template <class Wait> void await(const Wait& wait) {
    Deadline deadline{world_.deadline_};
    Awaited& awaited = board().awaited(rank_);
    wait.publish(awaited);
    for (wait.work(); !wait.done(); wait.work()) {
      const bool in_time = board().sleeper(rank_).wait(world_.spins_, deadline, [&] { return wait.done() || goes_on(wait); });
      if (wait.done() || wait.has_work()) continue;
      if (wait.kill()) leave(wait, awaited, in_time);
      std::this_thread::yield();  // all have posted: somebody is at work and needs nobody to finish
    }
    awaited.clear();
  }

  template <class Wait> [[noreturn]] HEDDLE_COLD void leave(const Wait& wait, Awaited& awaited, bool in_time) {
    if (!in_time)
      board().lost().add_if_first(board().culprit(wait.awaited()), "it started nothing within the deadline of " + milliseconds_of(world_.deadline_));
    world_.give_up(Rank{rank_}, "");  // it starts nothing more, so who needs it must not wait either; the cause is the rank lost first
    awaited.clear();
    throw board().lost().error(wait.describe(), wait.k);
  }

  void reset() {
    for (auto* windows : {&sends_, &receives_, &collectives_})
      for (Window& window : *windows) window.reset();
  }

  Threads& world_;
  int rank_;
  RowOf<Window> sends_;        // (peers)
  RowOf<Window> receives_;     // (peers)
  RowOf<Window> collectives_;  // (groups)
};

HEDDLE_APART inline Threads::Threads(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline)
    : deadline_(positive_deadline(deadline)), board_(ranks, std::move(groups), limits), spins_(spins_before_sleep(ranks)),
      traffic_(static_cast<std::size_t>(ranks), [&](std::size_t) { return SentCounters{board_.groups().count()}; }),
      endpoints_(static_cast<std::size_t>(ranks), [&](std::size_t rank) {
        return Endpoint{*this, static_cast<int>(rank), limits};
      }) {}

inline Threads::Endpoint& Threads::endpoint(Rank rank) { return endpoints_.at(static_cast<std::size_t>(rank.value)); }

inline void Threads::reset() {
  for (Endpoint& endpoint : endpoints_) endpoint.reset();
  board_.reset();
}

static_assert(TransportEndpoint<Threads::Endpoint>);

}  // namespace heddle::transport_room
