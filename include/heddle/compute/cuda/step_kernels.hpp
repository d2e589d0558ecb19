// SPDX-License-Identifier: MIT
// Room: compute. Kernels of a step that belong to no layer: sums over logical devices, the loss scale, clipping, bfloat16, trees of losses.
// Sees: compute/cuda/cuda, core.  Does not see: layers, policies, programs.
// In: pointers of a card.  Out: SumOfMembers, TreeOfLosses, GuardLosses, TakeGuard, Unscale, Scale, AddBias, TakeOverflow, TakeNorm,
// ClipAll, ClipEach, FoldTracked, convert_all, launch_each.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/values.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/core/finite.hpp"

namespace heddle::compute_room {

/// Buffers of the members of a group: of 2 members from[0], from[1] are read, and each to[k] that is not null is written.
struct MemberBuffers {
  static constexpr int most = 64;
  const float* from[most];
  float* to[most];
};
/// to[k][i] = the sum of from[m][i] along the tree of a binary counter, as transport_room::tree_sum_to_all takes it: ((a + b) + (c + d)) + e.
///
/// Tested  compute/cuda/step_kernels_test
struct SumOfMembers {
  static constexpr const char* name = "SumOfMembers";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, int members, MemberBuffers at) const {
    const std::int64_t i = first_of_thread<1>(b);
    if (i >= n) return;
    float levels[8];
    for (int m = 0; m < members; ++m) {
      float sum = at.from[m][i];
      int level = 0;
      for (; (m >> level & 1) != 0; ++level) sum = levels[level] + sum;
      levels[level] = sum;
    }
    int held = 0;
    while ((members >> held & 1) == 0) ++held;
    float sum = levels[held];
    for (int level = held + 1; level < 8; ++level)
      if ((members >> level & 1) != 0) sum = levels[level] + sum;
    for (int m = 0; m < members; ++m)
      if (at.to[m] != nullptr) at.to[m][i] = sum;
  }
};

/// Divides by the scale of the loss; *flag grows if an element is not finite then.
struct Unscale {
  static constexpr const char* name = "Unscale";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const CudaNumbers* numbers, float* values, float* flag) const {
    float* const scratch = b.template shared<float>(warp_threads);
    const auto inverse = static_cast<float>(1 / static_cast<double>(numbers->loss_scale));
    const std::int64_t i = first_of_thread<1>(b);
    float odd = 0;
    if (i < n) {
      values[i] *= inverse;
      odd = is_finite(values[i]) ? 0.0F : 1.0F;
    }
    odd = block_fold<Most>(b, odd, scratch);
    if (b.thread() == 0 && odd > 0) b.atomic_add(flag, 1.0F);  // whole numbers: their order does not matter
  }
};
/// The kernel whose threads have one of n elements each, with K::at(i, arguments...).
template <class K> struct OfEach {
  static constexpr const char* name = K::name;
  static constexpr bool cooperative = false;
  template <BlockOfThreads B, class... A> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, A... arguments) const {
    const std::int64_t i = first_of_thread<1>(b);
    if (i < n) K::at(i, arguments...);
  }
};
/// Queues it: 1000 elements take 4 blocks of 256 threads, whose last 24 have nothing to do.
template <class K, class... A> void launch_each(cudaStream_t stream, std::int64_t n, A... arguments) {
  launch<OfEach<K>>(stream, extents_of(n), n, arguments...);
}
/// Multiplies by the scale of the loss: of bfloat16 without an error where the scale is a power of two, as it is unless a plan's user sets another.
struct Scale {
  static constexpr const char* name = "Scale";
  template <class Value> HEDDLE_DEVICE static void at(std::int64_t i, const CudaNumbers* numbers, Value* values) {
    values[i] = as_value<Value>(as_float(values[i]) * numbers->loss_scale);
  }
};
/// to (rows, columns), or several such matrices `stride` apart, += bias (columns) in each row; rows lie `pitch` apart.
struct AddBias {
  static constexpr const char* name = "AddBias";
  template <class Value>
  HEDDLE_DEVICE static void at(std::int64_t i, std::int64_t rows, std::int64_t columns, std::int64_t pitch, std::int64_t stride, const Value* bias,
                               Value* to) {
    const std::int64_t row = i / columns, column = i - row * columns;
    Value& made = to[row / rows * stride + row % rows * pitch + column];
    made = as_value<Value>(as_float(made) + as_float(bias[column]));
  }
};
/// Whether a gradient overflows, as the flag of all ranks says: then the step holds.
struct TakeOverflow {
  static constexpr const char* name = "TakeOverflow";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, const float* flag, CudaNumbers* numbers) const {
    if (b.thread() != 0) return;
    numbers->overflows = *flag;
    if (*flag > 0) numbers->holds = 1;
  }
};
/// The norm of `count` units from the squares of each, in their order, and the factor that takes it to the largest that is wanted, with the bits of
/// the host. A step whose norm is not finite holds.
struct TakeNorm {
  static constexpr const char* name = "TakeNorm";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int count, const float* squares, CudaNumbers* numbers) const {
    if (b.thread() != 0) return;
    double sum = 0;
    for (int u = 0; u < count; ++u) sum += static_cast<double>(squares[u]);
    const auto norm = static_cast<float>(std::sqrt(sum));
    const auto factor = static_cast<float>(numbers->max_norm / (static_cast<double>(norm) + 1e-6));
    numbers->norm = norm;
    numbers->clip_factor = factor < 1 ? factor : 1;
    if (!is_finite(norm)) numbers->holds = 1;
  }
};
/// Multiplies by the factor of clipping where that is below 1, unless the step holds.
struct ClipAll {
  static constexpr const char* name = "ClipAll";
  HEDDLE_DEVICE static void at(std::int64_t i, const CudaNumbers* numbers, float* values) {
    if (numbers->clip_factor < 1 && !(numbers->holds > 0)) values[i] *= numbers->clip_factor;
  }
};
/// Takes each into -limit to limit, unless the step holds; NaN stays.
struct ClipEach {
  static constexpr const char* name = "ClipEach";
  HEDDLE_DEVICE static void at(std::int64_t i, const CudaNumbers* numbers, float* values) {
    if (numbers->holds > 0) return;
    const float limit = numbers->max_value;
    values[i] = values[i] > limit ? limit : values[i] < -limit ? -limit : values[i];
  }
};
/// Takes what is tracked `momentum` of the way to sums * each, unless the step holds.
struct FoldTracked {
  static constexpr const char* name = "FoldTracked";
  HEDDLE_DEVICE static void at(std::int64_t i, const CudaNumbers* numbers, float momentum, float each, const float* sums, float* values) {
    if (numbers->holds > 0) return;
    values[i] = (1 - momentum) * values[i] + momentum * (sums[i] * each);
  }
};

/// to = from, four a thread: of bfloat16 exact, of floats rounded to the nearest, ties to even; from floats to floats as if there were bfloat16
/// between.
template <class From, class To> struct ConvertAll {
  static constexpr const char* name = "ConvertAll";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<float>::count;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const From* from, To* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> x;
    x.load(from + i, n - i);
    if constexpr (std::is_same_v<From, To>)
      for (float& value : x.values) value = as_float(as_bfloat16(value));
    x.store(to + i, n - i);
  }
};
template <class From, class To> void convert_all(cudaStream_t stream, std::int64_t n, const From* from, To* to) {
  using K = ConvertAll<From, To>;
  launch<K>(stream, extents_of(n, K::each), n, from, to);
}

/// The sum of losses along the tree of a binary counter, as on the host: of 3 it is (a + b) + c.
HEDDLE_DEVICE inline float tree_of_losses(int count, const float* losses) {
  float levels[32];
  for (int t = 0; t < count; ++t) {
    float sum = losses[t];
    int level = 0;
    for (; (t >> level & 1) != 0; ++level) sum = levels[level] + sum;
    levels[level] = sum;
  }
  int held = 0;
  while ((count >> held & 1) == 0) ++held;
  float sum = levels[held];
  for (int level = held + 1; level < 32; ++level)
    if ((count >> level & 1) != 0) sum = levels[level] + sum;
  return sum;
}
/// Behind `count` losses their sum, along the tree of gradients: of 3 it is (a + b) + c.
struct TreeOfLosses {
  static constexpr const char* name = "TreeOfLosses";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int count, float* losses) const {
    if (b.thread() == 0) losses[count] = tree_of_losses(count, losses);
  }
};
/// *flag = 1 if a loss or their sum is not finite. The sum that ranks report is not asked: it has those of other ranks in it.
struct GuardLosses {
  static constexpr const char* name = "GuardLosses";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int count, const float* losses, float* flag) const {
    if (b.thread() == 0) *flag = is_finite(tree_of_losses(count, losses)) ? 0.0F : 1.0F;
  }
};
/// Whether a loss is not finite, as the flag of all ranks says: then the step holds.
struct TakeGuard {
  static constexpr const char* name = "TakeGuard";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, const float* flag, CudaNumbers* numbers) const {
    if (b.thread() != 0) return;
    numbers->odd_losses = *flag;
    if (*flag > 0) numbers->holds = 1;
  }
};

}  // namespace heddle::compute_room
