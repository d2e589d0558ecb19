// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention on a card.
// Sees: graph/layers/attention, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<SelfAttention, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/attention_backward.hpp"
#include "heddle/compute/cuda/attention_backward_on_tensor_cores.hpp"
#include "heddle/compute/cuda/attention_forward.hpp"
#include "heddle/compute/cuda/attention_forward_on_tensor_cores.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/graph/layers/attention.hpp"

namespace heddle {

/// SelfAttention on CudaCompute or what derives from it. Kernels depend on the size of a head, on whether weights are dropped, and on values: those
/// of bfloat16, and floats that may be rounded to TF32, go to tensor cores, which take heads of 8, 16, ... 64 features; other heads, and float32, do
/// not. A library of the queue comes first, of values in bfloat16 whose weights are not dropped.
///
/// Law     no atomics: the order of every sum depends on positions and features of a head alone. Dropped weights are the same in all of them.
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/attention_test
template <class... Options, std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::SelfAttention<Options...>, C> {
  using TakesBFloat16 = Kernel;
  using Layer = graph_room::SelfAttention<Options...>;
  using Memory = compute_room::CudaMemory;

  template <class Value = float> static void forward(const seams_room::ForwardCallIn<Memory>& call) {
    if constexpr (asks_library<Value>)
      if (const Shape shape = shape_of(*call.leaf, call.rows); compute_room::taken_by_library(call.space, shape))
        return call.space.queue->library->forward(
            shape,
            compute_room::AttentionTensors{compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output), call.statistics});
    with_drop(call, [&](auto drops, const compute_room::AttentionSizes& e, const compute_room::MaskOfCall& drop) {
      constexpr bool draws = decltype(drops)::value;
      const auto* const input = compute_room::values_at<Value>(call.input);
      auto* const output = compute_room::values_at<Value>(call.output);
      if (on_tensor_cores<Value>(call, e))
        compute_room::queue_attention_forward_on_tensor_cores<Value, draws>(*call.space.queue, e, drop, input, output, call.statistics);
      else
        compute_room::queue_attention_forward<Value, draws>(*call.space.queue, e, drop, input, output, call.statistics);
    });
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<Memory>& call) {
    if (call.input_gradient == nullptr) return;
    if constexpr (asks_library<Value>)
      if (const Shape shape = shape_of(*call.leaf, call.rows); compute_room::taken_by_library(call.space, shape))
        return call.space.queue->library->backward(
            shape, compute_room::AttentionGradients{compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output),
                                                    call.statistics, compute_room::values_at<Value>(call.output_gradient),
                                                    compute_room::values_at<Value>(call.input_gradient)});
    with_drop(call, [&](auto drops, const compute_room::AttentionSizes& e, const compute_room::MaskOfCall& drop) {
      constexpr bool draws = decltype(drops)::value;
      const auto queue = [&](auto queued) {
        queued(*call.space.queue, e, drop, compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output),
               compute_room::values_at<Value>(call.output_gradient), call.statistics, compute_room::values_at<Value>(call.input_gradient));
      };
      if (on_tensor_cores<Value>(call, e))
        queue([](const auto&... all) { compute_room::queue_attention_backward_on_tensor_cores<Value, draws>(all...); });
      else
        queue([](const auto&... all) { compute_room::queue_attention_backward<Value, draws>(all...); });
    });
  }
  /// Before the first step: a library chooses then how it computes so many rows.
  template <class Value = float> static void prepare(const graph_room::Leaf& leaf, std::int64_t rows, const Memory& space) {
    if constexpr (asks_library<Value>) static_cast<void>(compute_room::taken_by_library(space, shape_of(leaf, rows)));
  }

 private:
  using Shape = compute_room::AttentionShape;
  static constexpr graph_room::WeightDrop said = Layer::Said::drop();
  /// Of values in bfloat16, where no weights are dropped: dropped ones have numbers that no library draws.
  template <class Value> static constexpr bool asks_library = !std::is_same_v<Value, float> && said.threshold == 0;
  [[nodiscard]] static Shape shape_of(const graph_room::Leaf& leaf, std::int64_t rows) {
    const auto e = compute_room::AttentionSizes::of(leaf, rows, Layer::causal);
    return {e.sequences, e.positions, e.heads, e.key_values, e.features, e.causal};
  }
  template <class Value, class Call> [[nodiscard]] static bool on_tensor_cores(const Call& call, const compute_room::AttentionSizes& e) {
    return (!std::is_same_v<Value, float> || call.space.queue->tf32) && compute_room::fits_tensor_cores(e.features);
  }
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
