// SPDX-License-Identifier: MIT
// Room: transport. What the threads of one process share: rings, who sleeps, who waits for whom, who is lost.
// Sees: transport/ rings, groups and lost ranks.  Does not see: deadlines, windows, the interface of an endpoint.
// In: ranks, groups, limits.  Out: ThreadBoard.
#pragma once

#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/transport/group_ring.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/pair_ring.hpp"
#include "heddle/transport/spin_wait.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// Holds what the threads of one session share: a ring for each pair and each group, and who is lost.
///
/// Tested  transport/thread_board_test
class ThreadBoard {
 public:
  HEDDLE_COLD ThreadBoard(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits)
      : groups_(ranks, std::move(groups)), lost_(ranks), sleepers_(static_cast<std::size_t>(ranks)), awaited_(sleepers_.size()),
        pairs_(sleepers_.size() * sleepers_.size(), [&](std::size_t) { return PairRing{limits.transfers}; }),
        rings_(static_cast<std::size_t>(groups_.count()), [&](std::size_t group) {
          return GroupRing{groups_.members(static_cast<int>(group)), limits.reductions, limits.add};
        }) {}

  [[nodiscard]] int ranks() const { return groups_.ranks(); }
  [[nodiscard]] const GroupsOfRanks& groups() const { return groups_; }
  [[nodiscard]] LostRanks& lost() { return lost_; }
  [[nodiscard]] PairRing& pair(int from, int to) { return pairs_[static_cast<std::size_t>(from * ranks() + to)]; }
  [[nodiscard]] GroupRing& ring(int group) { return rings_[static_cast<std::size_t>(group)]; }
  [[nodiscard]] Sleeper& sleeper(int rank) { return sleepers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Awaited& awaited(int rank) { return awaited_.at(static_cast<std::size_t>(rank)); }

  void wake_group(int group) {
    for (int q = 0; q < groups_.members(group); ++q) sleeper(groups_.rank_at(group, q)).wake();
  }
  /// The first rank that has not started number k of a group, -1 if all have.
  [[nodiscard]] int first_missing(int group, std::int64_t k) {
    const int position = ring(group).first_missing(k);
    return position < 0 ? -1 : groups_.rank_at(group, position);
  }
  [[nodiscard]] bool misses_a_lost_rank(int group, std::int64_t k) {
    for (int q = 0; q < groups_.members(group); ++q)
      if (!ring(group).started(k, q) && lost_.contains(groups_.rank_at(group, q))) return true;
    return false;
  }
  /// The rank at the end of the chain of waits, which waits for nobody; `awaited` itself if the chain is a circle.
  [[nodiscard]] HEDDLE_COLD int culprit(int awaited) {
    int last = awaited;
    for (int hop = 0; hop < ranks(); ++hop) {
      const int next = awaited_by(last);
      if (next < 0) return last;
      last = next;
    }
    return awaited;
  }

  /// Ends what the rank has started and cannot complete. When this returns nobody reads or writes a buffer that it has given.
  HEDDLE_COLD void withdraw(int rank) {
    for (int other = 0; other < ranks(); ++other) {
      pair(rank, other).kill_all(PairRing::send);
      pair(other, rank).kill_all(PairRing::receive);
    }
    for (int g = 0; g < groups_.count(); ++g)
      if (groups_.position(g, rank) >= 0) ring(g).kill_all(groups_.position(g, rank));
    for (Sleeper& sleeper : sleepers_) sleeper.wake();
  }

  HEDDLE_COLD void reset() {
    for (PairRing& pair : pairs_) pair.reset();
    for (GroupRing& ring : rings_) ring.reset();
    lost_.clear();
  }

 private:
  [[nodiscard]] int awaited_by(int rank) {
    const Awaited::Wait wait = awaited(rank).read();
    return wait.group < 0 ? wait.peer : first_missing(wait.group, wait.sequence);
  }

  GroupsOfRanks groups_;
  LostRanks lost_;
  RowOf<Sleeper> sleepers_;
  RowOf<Awaited> awaited_;
  RowOf<PairRing> pairs_;  // (from, to)
  RowOf<GroupRing> rings_;
};

}  // namespace heddle::transport_room
