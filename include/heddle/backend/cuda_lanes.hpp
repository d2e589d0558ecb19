// SPDX-License-Identifier: MIT
// Room: backend. The queue of a card in which operations between ranks stand, beside the one in which it computes.
// Sees: backend/cuda_card, compute/cuda.  Does not see: NCCL, ranks, plans.
// In: a Card.  Out: CardLanes.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/backend/cuda_card.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"

namespace heddle::backend_room {

/// fork(), an operation in queue(), mark(), and join(mark) at some time later: what stands between fork and join in the card's own queue runs beside
/// the operation. Marks that were joined are used again, so 3 operations that are under way at once take 3 events, in all steps together.
///
/// Errors  R14, R36
/// Tested  backend/cuda_lanes_test
class CardLanes {
 public:
  /// Of the calling thread's card, with room for so many floats that come from other ranks.
  CardLanes(Card& card, std::int64_t parts) : card_(&card), queue_(make_stream()), forked_(make_event()), parts_size_(parts) {
    if (parts > 0) parts_ = card_memory<float>(static_cast<std::size_t>(parts), "sums over ranks");
  }

  [[nodiscard]] Card& card() { return *card_; }
  [[nodiscard]] cudaStream_t queue() const { return queue_.get(); }
  void fork() { put_after(card_->stream(), forked_, queue()); }
  [[nodiscard]] int mark() {
    if (free_.empty()) {
      marks_.push_back(make_event());
      free_.push_back(static_cast<int>(marks_.size()) - 1);
    }
    const int taken = free_.back();
    free_.pop_back();
    check_cuda(cudaEventRecord(marks_[static_cast<std::size_t>(taken)].get(), queue()), "cudaEventRecord");
    return taken;
  }
  void join(int mark) {
    check_cuda(cudaStreamWaitEvent(card_->stream(), marks_[static_cast<std::size_t>(mark)].get(), 0), "cudaStreamWaitEvent");
    free_.push_back(mark);
  }
  [[nodiscard]] float* parts() const { return parts_.get(); }
  [[nodiscard]] std::int64_t parts_size() const { return parts_size_; }
  void copy(float* to, const float* from, std::int64_t n) const { queue_copy(queue(), to, from, n); }
  /// Along the tree of tree_sum. More members than one kernel takes are summed as runs of so many, and then those sums: whole runs are subtrees. Sums
  /// of runs lie where the parts of others were.
  void sum(float* to, const float* const* from, int members, std::int64_t n) {
    if (members <= MemberBuffers::most) return sum_run(to, from, members, n);
    std::vector<const float*> of_runs;
    for (int first = 0; first < members; first += MemberBuffers::most) {
      float* const there = parts() + static_cast<std::int64_t>(of_runs.size()) * n;
      sum_run(there, from + first, std::min(MemberBuffers::most, members - first), n);
      of_runs.push_back(there);
    }
    sum(to, of_runs.data(), static_cast<int>(of_runs.size()), n);
  }

 private:
  void sum_run(float* to, const float* const* from, int members, std::int64_t n) const {
    MemberBuffers at{};
    std::copy_n(from, members, at.from);
    at.to[0] = to;
    launch<SumOfMembers>(queue(), extents_of(n), n, members, at);
  }

  Card* card_;
  Stream queue_;
  compute_room::Event forked_;
  std::vector<compute_room::Event> marks_;
  std::vector<int> free_;  // of marks_
  CardMemory<float> parts_;
  std::int64_t parts_size_;
};

}  // namespace heddle::backend_room
