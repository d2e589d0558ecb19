// SPDX-License-Identifier: MIT
// Room: transport. What the ranks on cards know of each other beside NCCL: groups, who is lost, how far each has come, what each has sent.
// Sees: seams/error, core, transport.  Does not see: NCCL, cards, plans.
// In: ranks, groups, limits, a deadline.  Out: NcclPeers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/ring_volume.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// Of the ranks of one plan, each with a card of its own. What a rank that is a thread asks between two looks at its queue is pause(): of 2 ranks of
/// which one has thrown it tells the other. Such ranks meet() before their cards wait for each other.
///
/// Errors  R01 RankLost, R13 a deadline that is none
/// Tested  transport/nccl_peers_test
class NcclPeers {
 public:
  using Clock = std::chrono::steady_clock;
  NcclPeers(int ranks, std::vector<std::vector<int>> groups, const PendingLimits& limits, std::chrono::nanoseconds deadline)
      : groups_(ranks, std::move(groups)), limits_(limits), deadline_(positive_deadline(deadline)), lost_(ranks),
        calls_(static_cast<std::size_t>(ranks)), met_(static_cast<std::size_t>(ranks)),
        traffic_(static_cast<std::size_t>(ranks), [&](std::size_t) { return SentCounters{groups_.count()}; }) {}

  [[nodiscard]] const GroupsOfRanks& groups() const { return groups_; }
  [[nodiscard]] const PendingLimits& limits() const { return limits_; }
  [[nodiscard]] SentCounters& traffic(int rank) { return traffic_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const SentCounters& traffic(int rank) const { return traffic_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] LostRanks& lost() { return lost_; }
  [[nodiscard]] const LostRanks& lost() const { return lost_; }
  /// The most elements that a rank receives of others at once, from the largest sum of each of its groups in their order: with 4 members a sum of
  /// 1,000 brings 3 parts of at most 256, whole lines each.
  [[nodiscard]] std::int64_t room_for_parts(int rank) const {
    std::int64_t most = 0;
    std::size_t own = 0;
    for (int g = 0; g < groups_.count() && own < limits_.elements.size(); ++g)
      if (groups_.position(g, rank) >= 0) most = std::max(most, parts_of(limits_.elements[own++], groups_.members(g)));
    return most;
  }
  [[nodiscard]] static constexpr std::int64_t parts_of(std::int64_t elements, int members) {
    std::int64_t most = 0;
    for (int q = 0; q < members; ++q) most = std::max(most, ring_elements_owned(elements, members, q));
    return std::max(most, elements / members) * (members - 1);
  }

  /// The rank has given its queue one step or one evaluation more.
  void queued(int rank) { calls_[static_cast<std::size_t>(rank)].fetch_add(1, std::memory_order_release); }
  [[nodiscard]] std::int64_t calls(int rank) const { return calls_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire); }
  /// Where ranks are threads: throws if some rank is lost, or if this one has waited for longer than the deadline since `begun`: then whoever has
  /// given its queue less is, or has not come to a meeting. If none has, all that is known is that some queue does not end. A process knows of its
  /// own calls alone, and asks.
  void pause(int rank, Clock::time_point begun) {
    if (lost_.any()) throw lost_.error(queue_of(rank), calls(rank));
    if (Clock::now() - begun < deadline_) return;
    int least = rank;
    for (int r = 0; r < groups_.ranks(); ++r)
      if (calls(r) < calls(least) || (calls(r) == calls(least) && met(r) < met(least))) least = r;
    const char* const what = least == rank                ? "its queue, or that of a rank that it waits for, did not end"
                             : calls(least) < calls(rank) ? "it gave its card nothing"
                                                          : "it made no room for its step";
    lost_.add_if_first(least, what + (" within the deadline of " + milliseconds_of(deadline_)));
    throw lost_.error(queue_of(rank), calls(rank));
  }
  /// Until all ranks have come here as often as this one: nobody's card is at work on what others are still making room for.
  void meet(int rank) {
    const std::int64_t times = met_[static_cast<std::size_t>(rank)].fetch_add(1, std::memory_order_acq_rel) + 1;
    const auto all_came = [&] {
      for (int r = 0; r < groups_.ranks(); ++r)
        if (met_[static_cast<std::size_t>(r)].load(std::memory_order_acquire) < times) return false;
      return true;
    };
    until(rank, all_came);
  }
  /// Where ranks are threads: until done(), with pause() between two looks.
  template <class Done> void until(int rank, Done done) {
    for (const Clock::time_point begun = Clock::now(); !done(); std::this_thread::yield()) pause(rank, begun);
  }
  /// As new, traffic excepted.
  void reset() {
    lost_.clear();
    for (auto* const counts : {&calls_, &met_})
      for (auto& count : *counts) count.store(0, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::int64_t met(int rank) const { return met_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire); }
  [[nodiscard]] HEDDLE_COLD static std::string queue_of(int rank) { return written({"the queue of rank ", rank}); }

  GroupsOfRanks groups_;
  PendingLimits limits_;
  std::chrono::nanoseconds deadline_;
  LostRanks lost_;
  RowOf<std::atomic<std::int64_t>> calls_, met_;  // by rank
  RowOf<SentCounters> traffic_;
};

}  // namespace heddle::transport_room
