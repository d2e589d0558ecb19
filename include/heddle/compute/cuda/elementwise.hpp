// SPDX-License-Identifier: MIT
// Room: compute. Every layer given by two functions of one float on a card, also a user's own.
// Sees: graph/leaf, graph/layers/relu and gelu, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn, BackwardCallIn and TailIn of CudaMemory.  Out: Kernel<ElementwiseLayer, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/functions_on_card.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/relu.hpp"

namespace heddle::compute_room {

/// to = forward(from) of n elements; both may be one array.
template <class F, class Value> struct MapElements {
  using Given = F;
  static constexpr const char* name = "MapElements";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<Value>::count;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, F functions, std::int64_t n, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> x;
    x.load(from + i, n - i);
    for (float& value : x.values) value = functions.forward(value);
    x.store(to + i, n - i);
  }
};
/// to = backward(saved, from) of n elements; any of them may be one array. A backward that reads what is not saved is given NaN.
template <class F, class Value> struct PullBackElements {
  using Given = F;
  static constexpr const char* name = "PullBackElements";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<Value>::count;
  static constexpr float nothing = std::numeric_limits<float>::quiet_NaN();  // made on the host: nvcc calls no such function on a card
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, F functions, std::int64_t n, const Value* saved, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> s;
    NumbersOfThread<each> gradient;
    if (saved != nullptr)
      s.load(saved + i, n - i);
    else
      s.fill(nothing);
    gradient.load(from + i, n - i);
    for (int k = 0; k < each; ++k) gradient.values[k] = functions.backward(s.values[k], gradient.values[k]);
    gradient.store(to + i, n - i);
  }
};

/// Both directions of a layer, 16 bytes a thread.
///
/// Errors  none; rows may be 0, the target may be the source
/// Law     an element's bits depend on its operands alone, never on its position or address
/// Tested  compute/cuda/elementwise_test
template <ElementwiseLayer L> struct ElementwiseOnCard {
  static constexpr KnownFunction known = std::same_as<L, graph_room::ReLU>       ? KnownFunction::relu
                                         : std::same_as<L, graph_room::GELUTanh> ? KnownFunction::gelu_tanh
                                                                                 : KnownFunction::none;
  using F = decltype(FunctionsOnCard<L>::functions());
  static constexpr Diagnosis refused = RefusedHere<MapElements<F, float>>::found;
  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) {
    using K = MapElements<F, Value>;
    const std::int64_t n = call.rows * call.leaf->in.elements();
    launch<K>(call.space.queue->stream, extents_of(n, K::each), FunctionsOnCard<L>::functions(), n, values_at<Value>(call.input),
              values_at<Value>(call.output));
  }
  template <class Value = float> static void forward_in_tail(const TailIn<CudaMemory>& tail, std::int64_t begin, std::int64_t end) {
    using K = MapElements<F, Value>;
    launch<K>(tail.space.queue->stream, extents_of(end - begin, K::each), FunctionsOnCard<L>::functions(), end - begin,
              values_at<Value>(tail.made) + begin, values_at<Value>(tail.output) + begin);
  }
  template <class Value = float> static void backward_in_tail(const TailIn<CudaMemory>& tail, std::int64_t begin, std::int64_t end) {
    using K = PullBackElements<F, Value>;
    const Value* const saved = tail.saved == nullptr ? nullptr : values_at<Value>(tail.saved) + begin;
    launch<K>(tail.space.queue->stream, extents_of(end - begin, K::each), FunctionsOnCard<L>::functions(), end - begin, saved,
              values_at<Value>(tail.made) + begin, values_at<Value>(tail.output) + begin);
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) {
    using K = PullBackElements<F, Value>;
    if (call.input_gradient == nullptr) return;
    const Saves saves = call.leaf->saves;
    const float* const saved = saves == Saves::output ? call.output : saves == Saves::nothing ? nullptr : call.input;
    const std::int64_t n = call.rows * call.leaf->in.elements();
    launch<K>(call.space.queue->stream, extents_of(n, K::each), FunctionsOnCard<L>::functions(), n, values_at<Value>(saved),
              values_at<Value>(call.output_gradient), values_at<Value>(call.input_gradient));
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <graph_room::ElementwiseLayer L, std::derived_from<compute_room::CudaCompute> C> struct Kernel<L, C> : compute_room::ElementwiseOnCard<L> {
  using TakesBFloat16 = Kernel;
  using RunsInTail = Kernel;
};

}  // namespace heddle
