// SPDX-License-Identifier: MIT
// Room: compute. Optimizer steps on a card over flat arrays, for every OptimizerDescription, also a user's own.
// Sees: graph/optimizer, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: Constants on the card and arrays of a multiple of 16 elements.  Out: OptimizerKernel<Optimizer, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/graph/optimizer.hpp"

namespace heddle::compute_room {

/// O::update of n elements, 16 bytes a thread; what an optimizer has no state for is null. The constants are read on the card: a step that was
/// captured once is replayed with those of the step in hand. Nothing changes where the numbers of the step say so; they may be null.
template <OptimizerDescription O> struct UpdateElements {
  using Given = UpdateElements;
  using Functions = O;
  static constexpr const char* name = "UpdateElements";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<float>::count;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const CudaNumbers* numbers, const typename O::Constants* there, float* parameters,
                                const float* gradients, float* firsts, float* seconds) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n || (numbers != nullptr && numbers->holds > 0)) return;
    const typename O::Constants c = *there;
    NumbersOfThread<each> p;
    NumbersOfThread<each> g;
    p.load(parameters + i, n - i);
    g.load(gradients + i, n - i);
    if constexpr (O::states == 0) {
      for (int k = 0; k < each; ++k) O::update(c, p.values[k], g.values[k]);
    } else {
      NumbersOfThread<each> first;
      first.load(firsts + i, n - i);
      if constexpr (O::states == 1) {
        for (int k = 0; k < each; ++k) O::update(c, p.values[k], g.values[k], first.values[k]);
      } else {
        NumbersOfThread<each> second;
        second.load(seconds + i, n - i);
        for (int k = 0; k < each; ++k) O::update(c, p.values[k], g.values[k], first.values[k], second.values[k]);
        second.store(seconds + i, n - i);
      }
      first.store(firsts + i, n - i);
    }
    p.store(parameters + i, n - i);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// Errors  none; elements may be 0
/// Law     an element's bits depend on its operands alone, never on its position or address
/// Tested  compute/cuda/optimizers_test
template <graph_room::OptimizerDescription O, std::derived_from<compute_room::CudaCompute> C> struct OptimizerKernel<O, C> {
  static void step(const typename O::Constants* there, const seams_room::StepCallIn<compute_room::CudaMemory>& call) {
    using K = compute_room::UpdateElements<O>;
    float* const first = O::states > 0 ? call.states[0] : nullptr;
    float* const second = O::states > 1 ? call.states[1] : nullptr;
    compute_room::launch<K>(call.space.queue->stream, compute_room::extents_of(call.elements, K::each), call.elements, call.space.queue->numbers,
                            there, call.parameters, call.gradients, first, second);
  }
};

}  // namespace heddle
