// SPDX-License-Identifier: MIT
// Room: backend. A rank that has a card for itself: its queues, its end of NCCL, its steps.
// Sees: backend/cuda_lanes, backend/cuda_steps, transport/nccl, run.  Does not see: plans as types, where other ranks live.
// In: peers, a rank, the number of a card, an id of NCCL.  Out: RankOnCard, WaysToWait.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/cuda_lanes.hpp"
#include "heddle/backend/cuda_steps.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/transport/nccl.hpp"

namespace heddle::backend_room {

/// How a rank waits where others may be lost: `until` for its queue and for NCCL. It throws where a rank is lost.
struct WaysToWait {
  transport_room::WaitForNccl until;
  /// Until all ranks of this process are here. What pins or makes memory may wait for all cards of a process, and so for operations of NCCL that wait
  /// for this rank: it comes before.
  std::function<void()> meet{};
};

/// The rank of DataParallel<4> that has card 2, for one. All calls are of the thread that runs the rank.
///
/// Errors  R37 no such card; R01 a rank that is lost while this one waits; R14, R36
/// Tested  backend/cuda_rank_test, backend/cuda_threads_test, backend/cuda_mpi_test
class RankOnCard {
 public:
  using Endpoint = NcclEndpoint<CardLanes>;

  HEDDLE_COLD RankOnCard(NcclPeers& peers, int rank, int card, const CudaProductOptions& how, const ncclUniqueId& id, WaysToWait waits,
                         MakeCudaLibrary library = nullptr)
      : peers_(peers), rank_(rank), card_(card, how, library), waits_(std::move(waits)) {
    card_.wait_by([this] { waits_.until({[this] { return state_of_queue(); }, "the queue", "an operation that was queued"}); });
    meet(id);
  }
  RankOnCard(const RankOnCard&) = delete;
  RankOnCard& operator=(const RankOnCard&) = delete;
  ~RankOnCard() {
    if (peers_.lost().any()) {
      drop();
      return;
    }
    steps_.forget();
    if (endpoint_) endpoint_->communicators().retire();
  }

  /// On top of what a card itself takes: what comes of other ranks before it is summed.
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) {
    std::int64_t most = 0;
    for (int own = 0; own < RankNeeds::most_groups; ++own)
      if (needs.members[own] > 1) most = std::max(most, NcclPeers::parts_of(needs.elements[own], needs.members[own]));
    return Bytes{most * 4};
  }
  [[nodiscard]] int card() const { return card_.number(); }
  [[nodiscard]] std::vector<std::string> layers_of_library() const { return card_.layers_of_library(); }
  /// ncclSuccess where its queue is empty, else ncclInProgress; ncclRemoteError where a peer does not answer. Errors  R36, also what NCCL has found
  [[nodiscard]] ncclResult_t state_of_queue() const {
    const bool done = compute_room::is_done(card_.stream());
    const ncclResult_t found = endpoint_ ? endpoint_->communicators().found() : ncclSuccess;
    return found != ncclSuccess || done ? found : ncclInProgress;
  }
  /// Errors  R01 where the ranks could not meet anew
  [[nodiscard]] Endpoint& endpoint() {
    if (!endpoint_) throw peers_.lost().error("the meeting of rank " + std::to_string(rank_), 0);
    return *endpoint_;
  }

  /// A step or an evaluation, until the card has done it; see QueuedSteps.
  template <class Executor> void step(Executor& executor, const StepInput& in) {
    QueuedStep& step = steps_.of(in);
    executor.begin(in);
    executor.device().refuse_labels();
    at_ = Where::busy;
    const auto queue = [&] {
      step.of_ranks.resize(1);
      step.of_ranks[0].clear();
      if (!step.queued) step.of_ranks[0].pinned.reserve(executor.device().pinned_bytes());
      executor.device().stage(step.of_ranks[0]);
      meet_others();
      executor.finish();
      return true;
    };
    const auto refill = [&] {
      for (const auto& fill : step.of_ranks[0].before) fill();
      return true;
    };
    const bool replays = step.graph.get() != nullptr;
    static_cast<void>(QueuedSteps::prepare(step, card_.stream(), queue, refill));
    peers_.queued(rank_);
    if (!replays) meet_others();
    QueuedSteps::launch(step, card_.stream());
    executor.replayed({});  // if the card fails from here on, parameters are those of no step
    card_.wait();
    at_ = Where::done;
    for (const auto& at : step.of_ranks[0].after) at();
    executor.replayed(executor.device().outcome());
    step.queued = true;
    executor.device().look();
  }
  /// How far it is in a call: what it owes the others it has not begun, is at, or has done. Whoever throws when it is done keeps nobody waiting.
  enum class Where : std::uint8_t { begins, busy, done };
  [[nodiscard]] Where where() const { return at_; }
  void begin_call() { at_ = Where::begins; }
  void forget() { steps_.forget(); }
  /// This rank is lost, or another: what is queued ends, and then nothing of the card is read or written any more.
  void drop() noexcept {
    if (!endpoint_) return;
    steps_.forget_graphs();
    endpoint_->abort();
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::seconds{10};
    for (const cudaStream_t queue : {endpoint_->mover().queue(), card_.stream()})
      while (cudaStreamQuery(queue) == cudaErrorNotReady && Clock::now() < end) std::this_thread::yield();
    static_cast<void>(cudaGetLastError());  // what a look at a queue has left
    steps_.forget();
    at_ = Where::begins;
  }
  [[nodiscard]] bool dropped() const { return !endpoint_ || endpoint_->communicators().aborted(); }
  /// All ranks again, after drop() on each.
  HEDDLE_COLD void meet(const ncclUniqueId& id) {
    endpoint_.reset();  // its room on the card is free before there is more
    endpoint_.emplace(peers_, rank_, CardLanes{card_, peers_.room_for_parts(rank_)}, id, waits_.until);
  }

 private:
  void meet_others() const {
    if (waits_.meet) waits_.meet();
  }

  NcclPeers& peers_;
  int rank_;
  Card card_;
  WaysToWait waits_;
  std::optional<Endpoint> endpoint_;  // executors have its address, which stays when ranks meet anew
  QueuedSteps steps_;
  Where at_ = Where::begins;
};

}  // namespace heddle::backend_room
