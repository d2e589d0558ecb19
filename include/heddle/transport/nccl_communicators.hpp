// SPDX-License-Identifier: MIT
// Room: transport. The communicators of NCCL that one rank is in: one of all ranks, and one of each of its groups.
// Sees: nccl.h, transport/groups, seams/error.  Does not see: memory of cards, queues, plans, how ranks find each other.
// In: an id that all ranks have, groups, a rank.  Out: NcclCommunicators, NcclWait, refuse_nccl.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/groups.hpp"

namespace heddle::transport_room {

/// R36: a call of NCCL has failed. `call` names it.
[[noreturn]] HEDDLE_COLD inline void refuse_nccl(ncclResult_t result, const char* call) {
  throw Error(Code{'R', 36}, std::string{call} + " failed: " + ncclGetErrorString(result) +
                                 ". Fix: look at the first such sentence of any rank, and start with NCCL_DEBUG=WARN, which says more.");
}
inline void check_nccl(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) refuse_nccl(result, call);
}
/// Who has died is for the ranks to find out: what NCCL says of it is no sentence yet.
inline ncclResult_t success_or_remote(ncclResult_t result, const char* call) {
  if (result != ncclRemoteError) check_nccl(result, call);
  return result;
}

/// What a rank waits for that its card or NCCL alone can tell: look() says ncclInProgress until it says ncclSuccess, or ncclRemoteError from when on
/// NCCL has found that a peer does not answer, and throws what else has failed. The queue of rank 1 is {look, "the queue", "an operation that was
/// queued"}; `call` is what an error names.
struct NcclWait {
  std::function<ncclResult_t()> look;
  const char* where;
  const char* call;
};
/// Until the wait is over; it throws if a rank is lost, if a peer does not answer or if it waits for too long.
using WaitForNccl = std::function<void(const NcclWait&)>;

/// Made eagerly and in one order on all ranks: first that of all ranks, then those of the groups, as many at once as have no rank in common. No call
/// of them waits inside NCCL, but `until` waits for it. Of the groups {0, 1}, {2, 3}, {0, 2}, {1, 3} rank 2 has three communicators, made by two
/// splits of the first.
///
/// Errors  R36 what NCCL refuses; what `until` throws. What is there then is aborted
/// Source  sources.md#nccl-abort
/// Tested  transport/nccl_communicators_test
class NcclCommunicators {
 public:
  /// Whoever calls has chosen its card.
  HEDDLE_COLD NcclCommunicators(const ncclUniqueId& id, const GroupsOfRanks& groups, int rank, WaitForNccl until)
      : NcclCommunicators(groups.count(), std::move(until)) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;    // a call that blocks waits for ever for a rank that fails before it comes
    config.splitShare = 1;  // what is split of it ends with it, however that is queued; without this an abort may wait for another communicator
    settle(all_, ncclCommInitRankConfig(&all_, groups.ranks(), id, rank, &config), "ncclCommInitRankConfig");
    for (int first = 0; first < groups.count(); first = apart(groups, first)) split(groups, first, apart(groups, first), rank);
  }
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  ~NcclCommunicators() { abort(); }

  [[nodiscard]] ncclComm_t all() const { return all_; }
  /// Null for a group that has no other member.
  [[nodiscard]] ncclComm_t of_group(int group) const { return of_groups_[static_cast<std::size_t>(group)]; }

  /// A call on a communicator, until it is with the queue that it was given. At the first use of a connection it waits for the other ranks.
  void settle(const ncclComm_t& communicator, ncclResult_t result, const char* call) const {
    const auto look = [&] {
      if (communicator != nullptr && result != ncclRemoteError)  // NCCL may still be making it
        check_nccl(ncclCommGetAsyncError(communicator, &result), "ncclCommGetAsyncError");
      return result == ncclInProgress ? result : success_or_remote(result, call);
    };
    if (result == ncclInProgress || result == ncclRemoteError) until_({look, "NCCL's connections", call});
    check_nccl(result, call);
  }
  /// What NCCL has found since: ncclSuccess, or ncclRemoteError where a peer does not answer. Errors  R36 all else
  [[nodiscard]] ncclResult_t found() const {
    ncclResult_t all = ncclSuccess;
    each([&](ncclComm_t communicator) {
      ncclResult_t state = ncclSuccess;
      check_nccl(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError");
      if (state != ncclInProgress && success_or_remote(state, "an operation that was queued") != ncclSuccess) all = state;
    });
    return all;
  }
  /// What was queued ends, with numbers that mean nothing, and nothing is queued any more. NCCL waits for graphs that refer to a communicator: they
  /// go before.
  void abort() noexcept { end(ncclCommAbort); }
  [[nodiscard]] bool aborted() const { return all_ == nullptr; }
  /// All is done, no rank is lost, and graphs are gone: they go without being aborted.
  void retire() noexcept { end(ncclCommDestroy); }

 private:
  NcclCommunicators(int groups, WaitForNccl until) : until_(std::move(until)), of_groups_(static_cast<std::size_t>(groups), nullptr) {}

  template <class Use> void each(Use use) const {
    if (all_ != nullptr) use(all_);
    for (const ncclComm_t communicator : of_groups_)
      if (communicator != nullptr) use(communicator);
  }
  /// That of all ranks first: a split that is under way belongs to it.
  template <class End> void end(End end_one) noexcept {
    each([&](ncclComm_t communicator) { static_cast<void>(end_one(communicator)); });
    all_ = nullptr;
    std::fill(of_groups_.begin(), of_groups_.end(), nullptr);
  }
  /// The first group from `first` on that has a rank in common with one of those between.
  [[nodiscard]] static int apart(const GroupsOfRanks& groups, int first) {
    std::vector<bool> taken(static_cast<std::size_t>(groups.ranks()), false);
    for (int g = first; g < groups.count(); ++g)
      for (int q = 0; q < groups.members(g); ++q) {
        const auto member = static_cast<std::size_t>(groups.rank_at(g, q));
        if (taken[member]) return g;
        taken[member] = true;
      }
    return groups.count();
  }
  /// All ranks call it, also those that are in none of these groups.
  void split(const GroupsOfRanks& groups, int first, int end, int rank) {
    int own = first;
    while (own < end && (groups.position(own, rank) < 0 || groups.members(own) == 1)) ++own;
    const bool in_one = own < end;
    ncclComm_t& made = in_one ? of_groups_[static_cast<std::size_t>(own)] : nothing_;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    settle(all_, ncclCommSplit(all_, in_one ? own : NCCL_SPLIT_NOCOLOR, in_one ? groups.position(own, rank) : 0, &made, &config), "ncclCommSplit");
    if (in_one) settle(made, ncclInProgress, "ncclCommSplit");
  }

  WaitForNccl until_;
  // Where a thread of NCCL writes them, so they stay where they are.
  ncclComm_t all_ = nullptr;
  std::vector<ncclComm_t> of_groups_;
  ncclComm_t nothing_ = nullptr;  // of a split that this rank has no part in
};

}  // namespace heddle::transport_room
