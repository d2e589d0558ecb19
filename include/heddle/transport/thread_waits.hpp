// SPDX-License-Identifier: MIT
// Room: transport. What a thread waits for: the k-th transfer of a pair, the k-th collective of a group.
// Sees: transport/thread_board, transport/mismatch.  Does not see: deadlines, how anybody sleeps.
// In: a board, the side that waits, k.  Out: whether it is done, hopeless or has work left; whom it waits for; its words.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/thread_board.hpp"

namespace heddle::transport_room {

/// The k-th transfer of a pair as one side waits for it. The third send of rank 2 to rank 3 has rank 2, peer 3 and k 2.
///
/// Tested  transport/thread_waits_test
struct PairWait {
  ThreadBoard& board;
  int rank;
  int peer;
  PairRing::Side side;
  std::int64_t k;

  [[nodiscard]] PairRing& ring() const { return side == PairRing::send ? board.pair(rank, peer) : board.pair(peer, rank); }
  [[nodiscard]] bool done() const { return ring().done(k); }
  [[nodiscard]] bool has_work() const { return false; }
  void work() const {}
  [[nodiscard]] bool hopeless() const { return ring().dead(k) || board.lost().contains(peer); }
  [[nodiscard]] bool kill() const { return ring().kill(k); }
  [[nodiscard]] int awaited() const { return peer; }
  void publish(Awaited& to) const { to.set_peer(peer); }
  [[nodiscard]] HEDDLE_COLD std::string describe() const {
    return (side == PairRing::send ? "send to rank " : "receive from rank ") + std::to_string(peer);
  }
  void check_counts() const {
    if (ring().sent(k) == ring().received(k)) return;
    const int from = side == PairRing::send ? rank : peer;
    throw counts_differ("rank " + std::to_string(from) + " sends", ring().sent(k), "rank " + std::to_string(rank + peer - from) + " receives",
                        ring().received(k), k);
  }
};

/// The k-th collective of a group as one member waits for it. The first collective of group 1 has group 1 and k 0.
///
/// Tested  transport/thread_waits_test
struct GroupWait {
  ThreadBoard& board;
  int group;
  Movement kind;
  std::int64_t k;

  [[nodiscard]] GroupRing& ring() const { return board.ring(group); }
  [[nodiscard]] bool done() const { return ring().done(k); }
  [[nodiscard]] bool has_work() const { return ring().has_work(k); }
  void work() const {
    if (ring().work(k)) board.wake_group(group);
  }
  [[nodiscard]] bool hopeless() const { return ring().dead(k) || board.misses_a_lost_rank(group, k); }
  [[nodiscard]] bool kill() const { return ring().kill(k); }
  [[nodiscard]] int awaited() const { return board.first_missing(group, k); }
  void publish(Awaited& to) const { to.set_collective(group, k); }
  [[nodiscard]] HEDDLE_COLD std::string describe() const { return describe_collective(kind, group); }
  void check_counts() const {
    const int odd = ring().odd_position(k);
    if (odd == 0) return;
    throw collectives_differ(board.groups().rank_at(group, 0), ring().posted(k, 0), board.groups().rank_at(group, odd), ring().posted(k, odd), k);
  }
};

}  // namespace heddle::transport_room
