// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention on a card.
// Sees: graph/layers/attention, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<SelfAttention, CudaCompute>.
#pragma once

#include <concepts>
#include <type_traits>

#include "heddle/compute/cuda/attention_backward.hpp"
#include "heddle/compute/cuda/attention_forward.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/graph/layers/attention.hpp"

namespace heddle {

/// SelfAttention on CudaCompute or what derives from it. Kernels depend on the size of a head and on whether weights are dropped.
///
/// Law     no atomics: the order of every sum depends on positions and features of a head alone
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/attention_test
template <class... Options, std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::SelfAttention<Options...>, C> {
  using Layer = graph_room::SelfAttention<Options...>;
  using Memory = compute_room::CudaMemory;

  static void forward(const seams_room::ForwardCallIn<Memory>& call) {
    with_drop(call, [&](auto drops, const compute_room::AttentionSizes& e, const compute_room::MaskOfCall& drop) {
      compute_room::queue_attention_forward<decltype(drops)::value>(*call.space.queue, e, drop, call.input, call.output, call.statistics);
    });
  }
  static void backward(const seams_room::BackwardCallIn<Memory>& call) {
    if (call.input_gradient == nullptr) return;
    with_drop(call, [&](auto drops, const compute_room::AttentionSizes& e, const compute_room::MaskOfCall& drop) {
      compute_room::queue_attention_backward<decltype(drops)::value>(*call.space.queue, e, drop, call.input, call.output, call.output_gradient,
                                                                     call.statistics, call.input_gradient);
    });
  }

 private:
  static constexpr graph_room::WeightDrop said = Layer::Said::drop();
  /// Calls run(whether weights are dropped, extents, how).
  template <class Call, class Run> static void with_drop(const Call& call, const Run& run) {
    const auto e = compute_room::AttentionSizes::of(*call.leaf, call.rows, Layer::causal);
    const compute_room::MaskOfCall drop(call.context, call.leaf->out.elements(), said.threshold, said.scale);
    if constexpr (said.threshold != 0)
      if (call.context.trains) return run(std::true_type{}, e, drop);
    run(std::false_type{}, e, drop);
  }
};

}  // namespace heddle
