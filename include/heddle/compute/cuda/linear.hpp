// SPDX-License-Identifier: MIT
// Room: compute. Linear on a card: three products, with the bias in the epilogue of the first, and the sums of its gradient.
// Sees: graph/layers/linear, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn, BackwardCallIn, TailIn of CudaMemory.  Out: Kernel<Linear, CudaCompute>.
#pragma once

#include <concepts>
#include <cstddef>
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

[[nodiscard]] inline ProductShape linear_outputs(const LinearSizes& e) {
  return {.m = e.vectors, .n = e.out, .k = e.in, .b_transposed = true, .bias = e.has_bias, .grows = GrowsIn::m, .rows = e.rows};
}
[[nodiscard]] inline ProductShape linear_weights(const LinearSizes& e, bool add = false) {
  return {.m = e.out, .n = e.in, .k = e.vectors, .a_transposed = true, .add = add};
}
[[nodiscard]] inline ProductShape linear_inputs(const LinearSizes& e) {
  return {.m = e.vectors, .n = e.in, .k = e.out, .grows = GrowsIn::m, .rows = e.rows};
}
[[nodiscard]] inline ProductShape ending_in(ProductShape shape, Epilogue epilogue) {
  shape.epilogue = epilogue;
  return shape;
}

template <class Value> void linear_forward(const ForwardCallIn<CudaMemory>& call) {
  const LinearSizes e(*call.leaf, call.rows);
  product(*call.space.queue, linear_outputs(e), values_at<Value>(call.input), values_at<Value>(call.parameters[0]), values_at<Value>(call.output),
          e.has_bias ? values_at<Value>(call.parameters[1]) : nullptr);
}
/// The epilogue that makes a forward and its tail; what lies between is kept where it may be read again.
[[nodiscard]] inline Epilogue epilogue_of(const TailIn<CudaMemory>& tail) {
  const bool in_place = tail.made == tail.output;
  if (tail.known == KnownFunction::relu && in_place) return Epilogue::relu;
  return tail.known == KnownFunction::gelu_tanh && !in_place ? Epilogue::gelu : Epilogue::nothing;
}
template <class Value> void linear_forward_with_tail(const ForwardCallIn<CudaMemory>& call, const TailIn<CudaMemory>& tail) {
  const LinearSizes e(*call.leaf, call.rows);
  const Epilogue epilogue = epilogue_of(tail);
  const BesideProduct<Value> beside{e.has_bias ? values_at<Value>(call.parameters[1]) : nullptr,
                                    epilogue == Epilogue::gelu ? values_at<Value>(call.output) : nullptr};
  if (epilogue != Epilogue::nothing &&
      call.space.queue->products->run_together(ending_in(linear_outputs(e), epilogue), values_at<Value>(call.input),
                                               values_at<Value>(call.parameters[0]), values_at<Value>(tail.output), beside))
    return;
  linear_forward<Value>(call);
  tail(0, e.vectors * e.out);
}

/// dW (Out, In) = dY^T X, db = column sums of dY. Without rows they are 0. Both are floats, whatever the factors are.
template <class Value> void linear_parameter_gradients(const BackwardCallIn<CudaMemory>& call, const LinearSizes& e) {
  const CudaQueue& queue = *call.space.queue;
  const auto* const dy = values_at<Value>(call.output_gradient);
  float *const dw = call.parameter_gradients[0], *const db = e.has_bias ? call.parameter_gradients[1] : nullptr;
  if (e.has_bias && !call.add && e.vectors > 0 &&
      queue.products->run_together(ending_in(linear_weights(e), Epilogue::sums_of_a), dy, values_at<Value>(call.input), dw,
                                   BesideProduct<float>{.sums = db}))
    return;
  if (e.vectors > 0)
    product(queue, linear_weights(e, call.add), dy, values_at<Value>(call.input), dw);
  else if (!call.add)
    CudaCompute::zero(call.space, dw, e.out * e.in);
  if (e.has_bias) column_sums(queue.stream, e.vectors, e.out, dy, db, call.add, call.workspace);
}
/// dX (vectors, In) = dY W, and what a tail makes of it.
template <class Value> void linear_backward(const BackwardCallIn<CudaMemory>& call, const TailIn<CudaMemory>* tail = nullptr) {
  const LinearSizes e(*call.leaf, call.rows);
  if (call.parameter_gradients != nullptr) linear_parameter_gradients<Value>(call, e);
  if (call.input_gradient == nullptr) return;
  const CudaQueue& queue = *call.space.queue;
  const auto *const dy = values_at<Value>(call.output_gradient), *const w = values_at<Value>(call.parameters[0]);
  if (tail != nullptr && tail->known == KnownFunction::gelu_tanh && tail->made == tail->output &&
      queue.products->run_together(ending_in(linear_inputs(e), Epilogue::gelu_gradient), dy, w, values_at<Value>(tail->output),
                                   BesideProduct<Value>{.kept = const_cast<Value*>(values_at<Value>(tail->saved))}))
    return;
  product(queue, linear_inputs(e), dy, w, values_at<Value>(call.input_gradient));
  if (tail != nullptr) (*tail)(0, e.vectors * e.in);
}

/// Where products are tuned, those of a grain: forward, and both gradients.
template <class Value> void prepare_linear(const Leaf& leaf, std::int64_t rows, const CudaMemory& space) {
  CudaProducts& products = *space.queue->products;
  const LinearSizes e(leaf, rows);
  if (!products.is_tuning() || e.vectors == 0) return;
  products.prepare<Value, Value>(linear_outputs(e));
  products.prepare<Value, Value>(linear_inputs(e));
  if (!e.has_bias) return products.prepare<Value, float>(linear_weights(e));
  products.prepare_together<Value, float>(
      ending_in(linear_weights(e), Epilogue::sums_of_a), column_sums_scratch(e.out), [&](const ProductAddresses& at, std::byte* scratch) {
        column_sums(space.queue->stream, e.vectors, e.out, static_cast<const Value*>(at.a), static_cast<float*>(at.sums), false, scratch);
      });
}
/// And of a forward, or of the gradient of the input, with its tail.
template <class Value> void prepare_linear_with_tail(const Leaf& leaf, std::int64_t rows, TailIn<CudaMemory> tail, bool back) {
  CudaProducts& products = *tail.space.queue->products;
  const LinearSizes e(leaf, rows);
  if (!products.is_tuning() || e.vectors == 0 || tail.known == KnownFunction::none || (back && tail.known == KnownFunction::relu)) return;
  const Epilogue epilogue = tail.known == KnownFunction::relu ? Epilogue::relu : back ? Epilogue::gelu_gradient : Epilogue::gelu;
  const ProductShape shape = ending_in(back ? linear_inputs(e) : linear_outputs(e), epilogue);
  products.prepare_together<Value, Value>(shape, Bytes{0}, [&](const ProductAddresses& at, std::byte*) {
    tail.made = tail.output = static_cast<float*>(at.c);
    tail.saved = static_cast<const float*>(at.kept);
    if (epilogue == Epilogue::gelu) tail.output = static_cast<float*>(at.kept);
    tail(0, shape.m * shape.n);
  });
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
  using TakesTail = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::linear_forward<Value>(call);
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::linear_backward<Value>(call);
  }
  template <class Value = float>
  static void forward_with_tail(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call,
                                const seams_room::TailIn<compute_room::CudaMemory>& tail) {
    compute_room::linear_forward_with_tail<Value>(call, tail);
  }
  template <class Value = float>
  static void backward_with_tail(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call,
                                 const seams_room::TailIn<compute_room::CudaMemory>& tail) {
    compute_room::linear_backward<Value>(call, &tail);
  }
  template <class Value> static void prepare(const graph_room::Leaf& leaf, std::int64_t rows, const compute_room::CudaMemory& space) {
    compute_room::prepare_linear<Value>(leaf, rows, space);
  }
  template <class Value>
  static void prepare_with_tail(const graph_room::Leaf& leaf, std::int64_t rows, const seams_room::TailIn<compute_room::CudaMemory>& tail,
                                bool back) {
    compute_room::prepare_linear_with_tail<Value>(leaf, rows, tail, back);
  }
};

}  // namespace heddle
