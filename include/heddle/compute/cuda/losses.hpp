// SPDX-License-Identifier: MIT
// Room: compute. The losses on a card: value and gradient in one kernel, then one block for the sum. Here those of each element by itself.
// Sees: graph/losses, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: LossCallIn<CudaMemory>.  Out: LossKernel<CrossEntropy | MeanSquaredError | ElementwiseLoss, CudaCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cross_entropy.hpp"
#include "heddle/compute/cuda/functions_on_card.hpp"
#include "heddle/compute/cuda/loss_sums.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/graph/losses/elementwise_losses.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"

namespace heddle::compute_room {

/// MeanSquaredError as two functions of one element: of 3 and target 1 they are 4 and 4.
struct SquaredError {
  [[nodiscard]] HEDDLE_HOST_DEVICE static double loss(float x, float target) {
    return static_cast<double>(x - target) * static_cast<double>(x - target);
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE static float slope(float x, float target) { return 2 * (x - target); }
};

/// n elements of a loss, each by itself, by the functions of its description, which are of host and device. Where nothing lies between them a thread
/// reads four at once; else each is looked up. The gradient may lie where the output does.
template <class F, class Value> struct ElementwiseLossElements {
  using Given = F;
  static constexpr const char* name = "ElementwiseLossElements";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, F functions, LossPlaces where, Divisor length, LossDivisor divisor, float factor, bool dense, std::int64_t n,
                                const Value* output, const float* targets, Value* gradient, const CudaNumbers* numbers, double* sums) const {
    constexpr int pack = Pack<float>::count;
    const Team<true, B> team(b);
    const auto scale = static_cast<float>(1 / divisor.of(*numbers));
    double sum = 0;
    const auto slope = [&](float x, float target) {
      sum += functions.loss(x, target);
      return functions.slope(x, target) * scale * factor;
    };
    const int width = dense ? pack : 1;
    const std::int64_t step = std::int64_t{b.blocks()} * b.threads() * width;
    for (std::int64_t i = (std::int64_t{b.index()} * b.threads() + b.thread()) * width; i < n; i += step) {
      if (dense && i + pack <= n) {
        NumbersOfThread<pack> x;
        NumbersOfThread<pack> target;
        x.load(output + i);
        target.load(targets + i);
        for (int e = 0; e < pack; ++e) x.values[e] = slope(x.values[e], target.values[e]);
        if (gradient != nullptr) x.store(gradient + i);
        continue;
      }
      for (std::int64_t k = i; k < n && k < i + width; ++k) {
        const std::int64_t v = dense ? 0 : length.quotient_of(k), j = k - v * length.divisor();
        const std::int64_t at = dense ? k : where.output_of(v) + j;
        const float made = slope(as_float(output[at]), targets[dense ? k : where.target_of(v) + j]);
        if (gradient != nullptr) gradient[at] = as_value<Value>(made);
      }
    }
    sum = team.sum_of_block(sum);
    if (b.thread() == 0) sums[b.index()] = sum;
  }
};

/// A loss of each element by itself, with the functions of its description or of what stands in its place: 8 rows of 10 elements are 80 elements of
/// one block.
///
/// Law     deterministic, and the same bits whether the gradient is asked for, and where it lies
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/losses_test
template <class Loss> struct CudaElementwiseLoss {
  using F = decltype(LossOnCard<Loss>::functions());
  static constexpr Diagnosis refused = RefusedHere<ElementwiseLossElements<F, float>>::found;
  static constexpr Bytes scratch() { return loss_scratch; }

  template <class Value = float> static void sum(const LossCallIn<CudaMemory>& call) {
    const std::int64_t blocks = sum_part<Value>(call, whole_output(call, call.features), {.sums = static_cast<double*>(call.workspace)});
    finish_loss(call, blocks, call.features);
  }
  /// By what the mean of one of several losses divides.
  static LossDivisor divisor(const LossCallIn<CudaMemory>&, const PlaceOfLoss& place, int number) {
    return {static_cast<double>(place.positions * place.targets), number, false, false};
  }
  /// As that of CudaCrossEntropy.
  template <class Value> static std::int64_t sum_part(const LossCallIn<CudaMemory>& call, const PlaceOfLoss& place, const AskedOfLoss& asked) {
    const LossPlaces where(call, place, 1);
    const std::int64_t n = where.vectors() * where.length;
    Extents extents = extents_of(n, where.dense() ? Pack<float>::count : 1, team_block_threads);
    extents.blocks = std::min(extents.blocks, most_loss_blocks);
    extents.shared_bytes = fold_bytes;
    launch<ElementwiseLossElements<F, Value>>(call.space.queue->stream, extents, LossOnCard<Loss>::functions(), where, Divisor{where.length},
                                              divisor(call, place, asked.number), asked.weight, where.dense(), n, values_at<Value>(call.output),
                                              static_cast<const float*>(call.targets), values_at<Value>(call.gradient), call.space.queue->numbers,
                                              asked.sums);
    return extents.blocks;
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::derived_from<compute_room::CudaCompute> C>
struct LossKernel<graph_room::MeanSquaredError, C> : compute_room::CudaElementwiseLoss<compute_room::SquaredError> {
  using TakesBFloat16 = LossKernel;
};
template <graph_room::ElementwiseLoss Loss, std::derived_from<compute_room::CudaCompute> C>
struct LossKernel<Loss, C> : compute_room::CudaElementwiseLoss<Loss> {
  using TakesBFloat16 = LossKernel;
};

}  // namespace heddle
