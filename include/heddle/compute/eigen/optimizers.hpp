// SPDX-License-Identifier: MIT
// Room: compute. Optimizer steps over flat arrays, for every OptimizerDescription.
// Sees: graph/optimizer, run/concepts, compute/eigen.  Does not see: policies, programs.
// In: Constants and arrays of a multiple of 16 elements.  Out: OptimizerKernel<Optimizer, EigenCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/optimizer.hpp"

namespace heddle::inline compute_room {

/// Correctly rounded roots of a block. std::sqrt may set errno, which keeps GCC and clang from making vector code of it.
inline void square_roots(const float* __restrict__ source, float* __restrict__ target) {
#if defined(__AVX512F__)
  _mm512_storeu_ps(target, _mm512_sqrt_ps(_mm512_loadu_ps(source)));
#elif defined(__AVX__)
  for (int i = 0; i < block_elements; i += 8) _mm256_storeu_ps(target + i, _mm256_sqrt_ps(_mm256_loadu_ps(source + i)));
#elif defined(__SSE2__)
  for (int i = 0; i < block_elements; i += 4) _mm_storeu_ps(target + i, _mm_sqrt_ps(_mm_loadu_ps(source + i)));
#elif defined(__aarch64__)
  for (int i = 0; i < block_elements; i += 4) vst1q_f32(target + i, vsqrtq_f32(vld1q_f32(source + i)));
#else
  for (int i = 0; i < block_elements; ++i) target[i] = std::sqrt(source[i]);
#endif
}

/// An update in two halves around one square root of its second state, as Adam has it.
template <class O>
concept TakesRootOfSecond = OptimizerDescription<O> && O::states == 2 && requires(const typename O::Constants& c, float& x, float g) {
  O::moments(c, x, g, x, x);
  O::apply(c, x, g, g);
};

}  // namespace heddle::inline compute_room

namespace heddle::inline run_room {

/// One block of every array is loaded, updated and stored: local arrays cannot overlap, so all of it becomes vector code.
///
/// Tested  compute/eigen/optimizers_test
template <OptimizerDescription O, std::derived_from<EigenCompute> C> struct OptimizerKernel<O, C> {
  static void step(const typename O::Constants& constants, std::int64_t elements, float* parameters, const float* gradients, float* const* states) {
    const typename O::Constants c = constants;
    for (std::int64_t i = 0; i < elements; i += block_elements) {
      FloatBlock p;
      FloatBlock g;
      [[maybe_unused]] FloatBlock first;
      [[maybe_unused]] FloatBlock second;
      p.load(parameters + i, block_elements);
      g.load(gradients + i, block_elements);
      if constexpr (O::states > 0) first.load(states[0] + i, block_elements);
      if constexpr (O::states > 1) second.load(states[1] + i, block_elements);
      if constexpr (TakesRootOfSecond<O>) {
        FloatBlock roots;
        for_lanes([&](int l) { O::moments(c, p.values[l], g.values[l], first.values[l], second.values[l]); });
        square_roots(second.values, roots.values);
        for_lanes([&](int l) { O::apply(c, p.values[l], first.values[l], roots.values[l]); });
      } else if constexpr (O::states == 2) {
        for_lanes([&](int l) { O::update(c, p.values[l], g.values[l], first.values[l], second.values[l]); });
      } else if constexpr (O::states == 1) {
        for_lanes([&](int l) { O::update(c, p.values[l], g.values[l], first.values[l]); });
      } else {
        for_lanes([&](int l) { O::update(c, p.values[l], g.values[l]); });
      }
      p.store(parameters + i, block_elements);
      if constexpr (O::states > 0) first.store(states[0] + i, block_elements);
      if constexpr (O::states > 1) second.store(states[1] + i, block_elements);
    }
  }
};

}  // namespace heddle::inline run_room
