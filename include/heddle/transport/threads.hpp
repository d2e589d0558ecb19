// SPDX-License-Identifier: MIT
// Room: transport. Ranks that are threads of one process: a transfer is a copy, a reduction a shared sum, nothing is allocated after construction.
// Sees: run/concepts, run/error, core.  Does not see: policies, programs, kernels, who the threads are.
// In: ranks, groups, limits, a deadline.  Out: one TransportEndpoint per rank; lane model: free.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/run/concepts.hpp"
#include "heddle/run/error.hpp"
#include "heddle/transport/group_ring.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/pair_ring.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/spin_wait.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::inline transport_room {

/// Transport between the threads of one process.
///
/// A transfer is copied by whoever posts last; a reduction is summed, slice by slice, by whoever waits for it, alone or together. So completion
/// depends on starts only. One thread issues the starts and waits of a rank.
/// Moves   one copy per transfer, one pass over the n buffers per all-reduce; counted as core/ring_volume says    [bytes]
/// Errors  T01 counts that differ; T02, T03, T04, T05 misuse; RankLost (R01) after the deadline or when a rank was given up
/// Tested  transport/threads_test, conformance/transport_threads_test
class Threads {
 public:
  class Endpoint;

  Threads(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline);

  [[nodiscard]] int ranks() const { return groups_.ranks(); }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return *endpoints_.at(static_cast<std::size_t>(rank.value)); }

  /// What the rank has sent since construction or the last clear_traffic.
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return traffic_.at(static_cast<std::size_t>(rank.value)).sent(kind); }
  void clear_traffic() {
    for (SentCounters& traffic : traffic_) traffic.clear();
  }

  /// Marks a rank as lost: what needs it and is not complete throws RankLost at once, now and later. When this returns nobody reads or writes a
  /// buffer that the rank has given: a rank that stops on an error calls it for itself before its buffers go.
  void give_up(Rank rank, std::string why) {
    lost_.add(rank.value, std::move(why));
    withdraw(rank.value);
  }

  /// Back to the state after construction, traffic excepted. Only when no rank is inside a call.
  void reset();

 private:
  struct PairWait;
  struct GroupWait;

  [[nodiscard]] PairRing& pair(int from, int to) { return pairs_[static_cast<std::size_t>(from * ranks() + to)]; }
  [[nodiscard]] GroupRing& ring(int group) { return rings_[static_cast<std::size_t>(group)]; }
  [[nodiscard]] Sleeper& sleeper(int rank) { return sleepers_[static_cast<std::size_t>(rank)]; }

  void wake_group(int group) {
    for (int q = 0; q < groups_.members(group); ++q) sleeper(groups_.rank_at(group, q)).wake();
  }
  [[nodiscard]] int first_missing(int group, std::int64_t k) {
    for (int q = 0; q < groups_.members(group); ++q)
      if (!ring(group).started(k, q)) return groups_.rank_at(group, q);
    return -1;
  }
  [[nodiscard]] bool misses_a_lost_rank(int group, std::int64_t k) {
    for (int q = 0; q < groups_.members(group); ++q)
      if (!ring(group).started(k, q) && lost_.contains(groups_.rank_at(group, q))) return true;
    return false;
  }
  [[nodiscard]] int awaited_by(int rank) {
    const Awaited& awaited = awaited_[static_cast<std::size_t>(rank)];
    const int group = awaited.group.load(std::memory_order_acquire);
    return group < 0 ? awaited.peer.load(std::memory_order_acquire) : first_missing(group, awaited.sequence.load(std::memory_order_acquire));
  }

  /// The rank at the end of the chain of waits, which waits for nobody; `awaited` itself if the chain is a circle.
  [[nodiscard]] int culprit(int awaited) {
    int last = awaited;
    for (int hop = 0; hop < ranks(); ++hop) {
      const int next = awaited_by(last);
      if (next < 0) return last;
      last = next;
    }
    return awaited;
  }

  void withdraw(int rank) {
    for (int other = 0; other < ranks(); ++other) {
      pair(rank, other).kill_all(PairRing::send);
      pair(other, rank).kill_all(PairRing::receive);
    }
    for (int g = 0; g < groups_.count(); ++g)
      if (groups_.position(g, rank) >= 0) ring(g).kill_all(groups_.position(g, rank));
    for (Sleeper& sleeper : sleepers_) sleeper.wake();
  }

  std::chrono::nanoseconds deadline_;
  Groups groups_;
  int spins_;
  LostRanks lost_;
  std::vector<Sleeper> sleepers_;
  std::vector<Awaited> awaited_;
  std::vector<SentCounters> traffic_;
  std::vector<PairRing> pairs_;  // (from, to)
  std::vector<GroupRing> rings_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

/// The k-th transfer of a pair as one side waits for it.
struct Threads::PairWait {
  Threads& world;
  int rank;
  int peer;
  PairRing::Side side;
  std::int64_t k;

  [[nodiscard]] PairRing& ring() const { return side == PairRing::send ? world.pair(rank, peer) : world.pair(peer, rank); }
  [[nodiscard]] bool done() const { return ring().done(k); }
  [[nodiscard]] bool has_work() const { return false; }
  void work() const {}
  [[nodiscard]] bool hopeless() const { return ring().dead(k) || world.lost_.contains(peer); }
  [[nodiscard]] bool kill() const { return ring().kill(k); }
  [[nodiscard]] int awaited() const { return peer; }
  void publish(Awaited& to) const { to.peer.store(peer, std::memory_order_release); }
  [[nodiscard]] std::string describe() const { return (side == PairRing::send ? "send to rank " : "receive from rank ") + std::to_string(peer); }
  void check_counts() const {
    if (ring().sent(k) == ring().received(k)) return;
    const int from = side == PairRing::send ? rank : peer;
    throw counts_differ("rank " + std::to_string(from) + " sends", ring().sent(k), "rank " + std::to_string(rank + peer - from) + " receives",
                        ring().received(k), k);
  }
};

/// The k-th reduction of a group as one member waits for it.
struct Threads::GroupWait {
  Threads& world;
  int group;
  std::int64_t k;

  [[nodiscard]] GroupRing& ring() const { return world.ring(group); }
  [[nodiscard]] bool done() const { return ring().done(k); }
  [[nodiscard]] bool has_work() const { return ring().has_work(k); }
  void work() const {
    if (ring().work(k)) world.wake_group(group);
  }
  [[nodiscard]] bool hopeless() const { return ring().dead(k) || world.misses_a_lost_rank(group, k); }
  [[nodiscard]] bool kill() const { return ring().kill(k); }
  [[nodiscard]] int awaited() const { return world.first_missing(group, k); }
  void publish(Awaited& to) const {
    to.sequence.store(k, std::memory_order_release);
    to.group.store(group, std::memory_order_release);
  }
  [[nodiscard]] std::string describe() const { return "all-reduce of group " + std::to_string(group); }
  void check_counts() const {
    const int odd = ring().odd_position(k);
    if (odd == 0) return;
    throw counts_differ("rank " + std::to_string(world.groups_.rank_at(group, 0)) + " reduces", ring().elements(k, 0),
                        "rank " + std::to_string(world.groups_.rank_at(group, odd)), ring().elements(k, odd), k);
  }
};

/// What one rank holds of the transport. Only the rank's own thread calls it.
class Threads::Endpoint {
 public:
  Endpoint(Threads& world, int rank, PendingLimits limits)
      : world_(world), rank_(rank), sends_(static_cast<std::size_t>(world.ranks()), Window{limits.transfers}), receives_(sends_),
        reductions_(static_cast<std::size_t>(world.groups_.count()), Window{limits.reductions}) {}

  [[nodiscard]] Rank rank() const { return Rank{rank_}; }

  std::int64_t send_start(int peer, const float* source, std::int64_t elements) {
    world_.groups_.check_transfer(rank_, peer, elements);
    const std::int64_t k = open(sends_, peer, [&](std::int64_t next) { return send(peer, next); });
    traffic().count_send(elements);
    if (world_.pair(rank_, peer).post_send(k, source, elements)) world_.sleeper(peer).wake();
    return k;
  }
  void send_wait(int peer, std::int64_t k) {
    world_.groups_.check_transfer(rank_, peer, 0);
    close(sends_, peer, send(peer, k));
  }

  std::int64_t receive_start(int peer, float* target, std::int64_t elements) {
    world_.groups_.check_transfer(rank_, peer, elements);
    const std::int64_t k = open(receives_, peer, [&](std::int64_t next) { return receive(peer, next); });
    if (world_.pair(peer, rank_).post_receive(k, target, elements)) world_.sleeper(peer).wake();
    return k;
  }
  void receive_wait(int peer, std::int64_t k) {
    world_.groups_.check_transfer(rank_, peer, 0);
    close(receives_, peer, receive(peer, k));
  }

  std::int64_t all_reduce_start(int group, float* data, std::int64_t elements) {
    world_.groups_.check_reduction(rank_, group, elements);
    const std::int64_t k = open(reductions_, group, [&](std::int64_t next) { return reduction(group, next); });
    const int position = world_.groups_.position(group, rank_);
    traffic().count_all_reduce(elements, world_.groups_.members(group), position);
    if (world_.ring(group).post(k, position, data, elements)) world_.wake_group(group);
    return k;
  }
  void all_reduce_wait(int group, std::int64_t k) {
    world_.groups_.check_reduction(rank_, group, 0);
    close(reductions_, group, reduction(group, k));
  }

 private:
  friend class Threads;

  [[nodiscard]] SentCounters& traffic() { return world_.traffic_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] PairWait send(int peer, std::int64_t k) { return {world_, rank_, peer, PairRing::send, k}; }
  [[nodiscard]] PairWait receive(int peer, std::int64_t k) { return {world_, rank_, peer, PairRing::receive, k}; }
  [[nodiscard]] GroupWait reduction(int group, std::int64_t k) { return {world_, group, k}; }

  // A rank that is lost starts nothing more: its buffers may be gone, and the reuse of slots relies on waits that ended well.
  template <class Describe> std::int64_t open(std::vector<Window>& windows, int index, Describe describe) {
    Window& window = windows[static_cast<std::size_t>(index)];
    if (world_.lost_.contains(rank_)) throw world_.lost_.error(describe(window.next()).describe(), window.next());
    return window.open([&] { return describe(window.next()).describe(); });
  }

  template <class Wait> void close(std::vector<Window>& windows, int index, const Wait& wait) {
    windows[static_cast<std::size_t>(index)].close(wait.k, [&] { return wait.describe(); });
    if (!wait.done()) await(wait);
    wait.check_counts();
  }

  template <class Wait> void await(const Wait& wait) {
    Deadline deadline{world_.deadline_};
    Awaited& awaited = world_.awaited_[static_cast<std::size_t>(rank_)];
    wait.publish(awaited);
    for (wait.work(); !wait.done(); wait.work()) {
      const bool in_time = world_.sleeper(rank_).wait(world_.spins_, deadline, [&] {
        return wait.done() || wait.has_work() || (world_.lost_.any() && (world_.lost_.contains(rank_) || wait.hopeless()));
      });
      if (wait.done() || wait.has_work()) continue;
      if (wait.kill()) leave(wait, awaited, in_time);
      std::this_thread::yield();  // all have posted: somebody is at work and needs nobody to finish
    }
    forget(awaited);
  }

  template <class Wait> [[noreturn]] void leave(const Wait& wait, Awaited& awaited, bool in_time) {
    if (!in_time)
      world_.lost_.add_if_first(world_.culprit(wait.awaited()),
                                "it started nothing within the deadline of " +
                                    std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(world_.deadline_).count()) + " ms");
    world_.give_up(Rank{rank_}, "");  // it starts nothing more, so who needs it must not wait either; the cause is the rank lost first
    forget(awaited);
    throw world_.lost_.error(wait.describe(), wait.k);
  }

  static void forget(Awaited& awaited) {
    awaited.peer.store(-1, std::memory_order_relaxed);
    awaited.group.store(-1, std::memory_order_relaxed);
  }

  void reset() {
    for (auto* windows : {&sends_, &receives_, &reductions_})
      for (Window& window : *windows) window.reset();
  }

  Threads& world_;
  int rank_;
  std::vector<Window> sends_;       // (peers)
  std::vector<Window> receives_;    // (peers)
  std::vector<Window> reductions_;  // (groups)
};

inline Threads::Threads(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline)
    : deadline_(deadline), groups_(ranks, std::move(groups)), spins_(spins_before_sleep(ranks)), lost_(ranks),
      sleepers_(static_cast<std::size_t>(ranks)), awaited_(sleepers_.size()), traffic_(sleepers_.size()) {
  pairs_.reserve(sleepers_.size() * sleepers_.size());
  while (pairs_.size() < sleepers_.size() * sleepers_.size()) pairs_.emplace_back(limits.transfers);
  for (int g = 0; g < groups_.count(); ++g) rings_.emplace_back(groups_.members(g), limits.reductions);
  for (int rank = 0; rank < ranks; ++rank) endpoints_.push_back(std::make_unique<Endpoint>(*this, rank, limits));
}

inline void Threads::reset() {
  for (PairRing& pair : pairs_) pair.reset();
  for (GroupRing& ring : rings_) ring.reset();
  for (auto& endpoint : endpoints_) endpoint->reset();
  lost_.clear();
}

static_assert(TransportEndpoint<Threads::Endpoint>);

}  // namespace heddle::inline transport_room
