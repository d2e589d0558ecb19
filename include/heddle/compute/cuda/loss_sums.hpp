// SPDX-License-Identifier: MIT
// Room: compute. What losses on a card have in common: where one lies in a call, by what its mean divides, and sums over rows in a fixed order.
// Sees: graph/losses/several_losses, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: LossCallIn<CudaMemory>, PlaceOfLoss.  Out: LossPlaces, LossDivisor, FinishLoss, loss_scratch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/losses/several_losses.hpp"

namespace heddle::compute_room {

/// The blocks of a kernel of a loss each leave one sum in the workspace, which one block adds. Their number is bounded, so the workspace is: 16,384
/// bytes of a loss, whatever its rows.
inline constexpr std::int64_t most_loss_blocks = 2048;
inline constexpr Bytes loss_scratch{most_loss_blocks * static_cast<std::int64_t>(sizeof(double))};

/// Where the vectors of a loss lie in the output and the targets of a call: each position of each row has `inner` of them, one behind the other. Of
/// (8, 14), of which a cross-entropy reads (10) from 4 on, a row has 8 positions 14 elements apart, each with one vector of 10 and one target.
struct LossPlaces {
  std::int64_t rows, row, stride, first, length;
  std::int64_t target_row, first_target, targets;  // of a vector
  Divisor of_a_row, inner;                         // vectors

  LossPlaces(const LossCallIn<CudaMemory>& call, const PlaceOfLoss& place, std::int64_t vectors_of_a_position)
      : rows(call.rows), row(call.features), stride(place.stride), first(place.first), length(place.reads.elements() / vectors_of_a_position),
        target_row(call.target_features > 0 ? call.target_features : place.positions * place.targets), first_target(place.first_target),
        targets(place.targets / vectors_of_a_position), of_a_row(place.positions * vectors_of_a_position), inner(vectors_of_a_position) {}

  [[nodiscard]] std::int64_t vectors() const { return rows * of_a_row.divisor(); }
  /// Every vector begins at a multiple of four elements.
  [[nodiscard]] bool packed() const { return (row | stride | first | length) % Pack<float>::count == 0; }
  /// Nothing lies between two vectors, neither of outputs nor of targets.
  [[nodiscard]] bool dense() const { return row == length * of_a_row.divisor() && target_row == targets * of_a_row.divisor(); }
  [[nodiscard]] HEDDLE_HOST_DEVICE std::int64_t output_of(std::int64_t v) const {
    const std::int64_t r = of_a_row.quotient_of(v), at = v - r * of_a_row.divisor(), p = inner.quotient_of(at);
    return r * row + first + p * stride + (at - p * inner.divisor()) * length;
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE std::int64_t target_of(std::int64_t v) const {
    const std::int64_t r = of_a_row.quotient_of(v);
    return r * target_row + first_target + (v - r * of_a_row.divisor()) * targets;
  }
};
/// The place of a loss that reads all of an output.
[[nodiscard]] inline PlaceOfLoss whole_output(const LossCallIn<CudaMemory>& call, std::int64_t targets) {
  return {.reads = Spec{Shape{call.features}}, .stride = call.features, .targets = targets};
}

/// By what a mean over targets divides, read on the card: 4 rows of 8 targets of which 8 are left out have 24.
struct LossDivisor {
  double targets_of_a_row = 0;
  int number = 0;          // of one of several losses
  bool leaves_out = true;  // targets that count nothing
  bool weighs = false;

  [[nodiscard]] HEDDLE_HOST_DEVICE double of(const CudaNumbers& numbers) const {
    const CountedTargets& counted = numbers.counted[number];
    if (weighs) return counted.sum_of_weights;
    return numbers.total_rows * targets_of_a_row - (leaves_out ? static_cast<double>(counted.left_out) : 0.0);
  }
};

/// What a kernel of one loss is asked for: its number, the weight of its gradient, and where its blocks leave their sums, 2048 at most.
struct AskedOfLoss {
  int number = 0;
  float weight = 1;
  double* sums = nullptr;
};

/// The sum of `count` doubles, on every thread.
template <BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE double sum_of_sums(B& b, const Team<true, B>& team, const double* sums, std::int64_t count) {
  double own = 0;
  for (std::int64_t i = b.thread(); i < count; i += b.threads()) own += sums[i];
  return team.sum_of_block(own);
}

/// loss = the sum over rows of the means of a row, from the sums of blocks.
struct FinishLoss {
  static constexpr const char* name = "FinishLoss";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t blocks, double targets_of_a_row, const double* sums, float* loss) const {
    const Team<true, B> team(b);
    const double sum = sum_of_sums(b, team, sums, blocks);
    if (b.thread() == 0) *loss = static_cast<float>(sum / targets_of_a_row);
  }
};
inline void finish_loss(const LossCallIn<CudaMemory>& call, std::int64_t blocks, std::int64_t targets_of_a_row) {
  launch<FinishLoss>(call.space.queue->stream, Extents{1, team_block_threads, fold_bytes}, blocks, static_cast<double>(targets_of_a_row),
                     static_cast<const double*>(call.workspace), call.loss);
}

}  // namespace heddle::compute_room
