// SPDX-License-Identifier: MIT
// Room: compute. Linear on a card: three products, with the bias in the epilogue of the first, and the sums of its gradient.
// Sees: graph/layers/linear, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn, BackwardCallIn of CudaMemory.  Out: Kernel<Linear, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/column_sums.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/products.hpp"
#include "heddle/graph/layers/linear.hpp"

namespace heddle::compute_room {

/// Run-time extents of one call: vectors of `in` features become vectors of `out` features.
/// 8 rows of shape (5, 4) through Linear<4, 3> are 40 vectors, with in 4 and out 3.
struct LinearSizes {
  std::int64_t rows, vectors, in, out;
  bool has_bias;
  LinearSizes(const Leaf& leaf, std::int64_t of)
      : rows(of), vectors(of * (leaf.in.elements() / leaf.in.shape.last())), in(leaf.in.shape.last()), out(leaf.out.shape.last()),
        has_bias(leaf.parameter_count == 2) {}
};

template <class Value> void linear_forward(const ForwardCallIn<CudaMemory>& call) {
  const LinearSizes e(*call.leaf, call.rows);
  const ProductShape y{.m = e.vectors, .n = e.out, .k = e.in, .b_transposed = true, .bias = e.has_bias, .grows = GrowsIn::m, .rows = e.rows};
  product(*call.space.queue, y, values_at<Value>(call.input), values_at<Value>(call.parameters[0]), values_at<Value>(call.output),
          e.has_bias ? values_at<Value>(call.parameters[1]) : nullptr);
}

/// dW (Out, In) = dY^T X, db = column sums of dY, dX (vectors, In) = dY W. Without rows the gradients of parameters are 0. Those of parameters are
/// floats, whatever the factors are.
template <class Value> void linear_backward(const BackwardCallIn<CudaMemory>& call) {
  const LinearSizes e(*call.leaf, call.rows);
  const CudaQueue& queue = *call.space.queue;
  const auto* const dy = values_at<Value>(call.output_gradient);
  if (call.parameter_gradients != nullptr) {
    const ProductShape dw{.m = e.out, .n = e.in, .k = e.vectors, .a_transposed = true, .add = call.add};
    if (e.vectors > 0)
      product(queue, dw, dy, values_at<Value>(call.input), call.parameter_gradients[0]);
    else if (!call.add)
      CudaCompute::zero(call.space, call.parameter_gradients[0], e.out * e.in);
    if (e.has_bias) column_sums(queue.stream, e.vectors, e.out, dy, call.parameter_gradients[1], call.add, call.workspace);
  }
  if (call.input_gradient == nullptr) return;
  const ProductShape dx{.m = e.vectors, .n = e.in, .k = e.out, .grows = GrowsIn::m, .rows = e.rows};
  product(queue, dx, dy, values_at<Value>(call.parameters[0]), values_at<Value>(call.input_gradient));
}

}  // namespace heddle::compute_room

namespace heddle {

/// Linear on CudaCompute or what derives from it; the code does not depend on In and Out. Replicas have the bits of one device in the output and in
/// the gradient of the input, as CudaProducts says. In bfloat16 both are sums in float32 that are rounded once; which sums an algorithm makes first
/// may differ from that of floats.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/linear_test
template <std::int64_t In, std::int64_t Out, class Bias, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Linear<In, Out, Bias>, C> {
  using TakesBFloat16 = Kernel;
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const graph_room::Leaf& leaf) {
    return leaf.parameter_count == 2 ? compute_room::column_sums_scratch(leaf.out.shape.last()) : Bytes{0};
  }
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::linear_forward<Value>(call);
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::linear_backward<Value>(call);
  }
};

}  // namespace heddle
