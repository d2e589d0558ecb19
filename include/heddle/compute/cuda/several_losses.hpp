// SPDX-License-Identifier: MIT
// Room: compute. Several losses on a card: the kernel of each reads its part of every row where it lies, and one block joins their sums.
// Sees: graph/losses, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: LossCallIn<CudaMemory>.  Out: LossKernel<Losses<...>, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/losses.hpp"
#include "heddle/graph/losses/several_losses.hpp"

namespace heddle::compute_room {

/// What is known of each of up to 8 losses when their sums are joined: how many sums its blocks left, its weight, and how to divide.
struct JoinedLosses {
  int count = 0;
  std::int64_t blocks[TargetRanges::most]{};
  double weights[TargetRanges::most]{};
  double targets_of_position[TargetRanges::most]{};
  LossDivisor divisors[TargetRanges::most]{};
};

/// loss = rows of the step times the sum of the means of all losses, each times its weight; the mean of each without it, and by what it was divided,
/// in rows. What is null is not asked for. Where nothing counts for a loss its sum stands for its mean.
struct JoinLosses {
  static constexpr const char* name = "JoinLosses";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, JoinedLosses joined, const CudaNumbers* numbers, const double* sums, float* loss, double* means,
                                double* divisors) const {
    const Team<true, B> team(b);
    double all = 0;
    for (int k = 0; k < joined.count; ++k) {
      const double targets = joined.targets_of_position[k];
      const double sum = sum_of_sums(b, team, sums + k * most_loss_blocks, joined.blocks[k]) / targets;
      const double divisor = joined.divisors[k].of(*numbers) / targets, mean = divisor > 0 ? sum / divisor : sum;
      all += joined.weights[k] * mean;
      if (b.thread() == 0 && means != nullptr) means[k] = mean;
      if (b.thread() == 0 && divisors != nullptr) divisors[k] = divisor;
    }
    if (b.thread() == 0 && loss != nullptr) *loss = static_cast<float>(all * numbers->total_rows);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// The sum over rows of all losses, each times its weight: what is divided by the rows of the step is the sum of their means.
/// Of 4 rows with means 0.5 and 2, of which the second weighs 1 / 4, the sum is 4.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/several_losses_test
template <class... Each, std::derived_from<compute_room::CudaCompute> C> struct LossKernel<graph_room::Losses<Each...>, C> {
  using All = graph_room::Losses<Each...>;
  using Call = seams_room::LossCallIn<compute_room::CudaMemory>;
  static constexpr Bytes scratch() { return Bytes{All::count * compute_room::loss_scratch.value}; }

  using TakesBFloat16 = LossKernel;
  template <class Value = float> static void sum(const Call& call) { queue<Value>(call, call.loss, nullptr, nullptr); }
  /// The mean of each, without its weight, and by what it was divided, in rows: both are written on the card.
  static void each(const Call& call, double* means, double* divisors) { queue<float>(call, nullptr, means, divisors); }

 private:
  template <class Value> static void queue(const Call& call, float* loss, double* means, double* divisors) {
    compute_room::JoinedLosses joined;
    (..., add<typename graph_room::ReadLossOf<Each>::Loss, Value>(call, joined));
    compute_room::launch<compute_room::JoinLosses>(call.space.queue->stream,
                                                   compute_room::Extents{1, compute_room::team_block_threads, compute_room::fold_bytes}, joined,
                                                   call.space.queue->numbers, static_cast<const double*>(call.workspace), loss, means, divisors);
  }
  template <class Loss, class Value> static void add(const Call& call, compute_room::JoinedLosses& joined) {
    const int k = joined.count++;
    const graph_room::PlaceOfLoss place = All::place_of(k, output_of(call));
    const auto weight = static_cast<float>(All::said[k].weight);
    joined.weights[k] = All::said[k].weight;
    joined.targets_of_position[k] = static_cast<double>(place.targets);
    joined.divisors[k] = LossKernel<Loss, C>::divisor(call, place, k);
    joined.blocks[k] = LossKernel<Loss, C>::template sum_part<Value>(
        call, place, {k, weight, static_cast<double*>(call.workspace) + k * compute_room::most_loss_blocks});
  }
  /// A row has so many positions, one behind the other.
  static graph_room::Spec output_of(const Call& call) {
    graph_room::Spec output;
    if (call.positions > 1) output.shape.append(call.positions);
    output.shape.append(call.features / call.positions);
    return output;
  }
};

}  // namespace heddle
