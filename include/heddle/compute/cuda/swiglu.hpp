// SPDX-License-Identifier: MIT
// Room: compute. SwiGLU on a card: each gate with its value.
// Sees: graph/layers/swiglu, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<SwiGLU, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/graph/layers/swiglu.hpp"

namespace heddle::compute_room {

/// The gate of element i of the output, whose vectors have `width` elements: that of element 5 of vectors of 3 is element 8; its value is 3 behind.
[[nodiscard]] HEDDLE_DEVICE inline std::int64_t gate_of(std::int64_t i, Divisor width) { return i + width.quotient_of(i) * width.divisor(); }

/// n elements of the output, each its gate's share of its value.
template <class Value, int each> struct OpenGates {
  static constexpr const char* name = "OpenGates";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, Divisor width, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const Value* const at = from + gate_of(i, width);
    NumbersOfThread<each> gate;
    NumbersOfThread<each> value;
    gate.load(at);
    value.load(at + width.divisor());
    for (int k = 0; k < each; ++k) value.values[k] = SwiGLU::let_through(gate.values[k], value.values[k]);
    value.store(to + i);
  }
};
/// The gradients of both from n elements of that of the output.
template <class Value, int each> struct PullBackGates {
  static constexpr const char* name = "PullBackGates";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, Divisor width, const Value* input, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t at = gate_of(i, width);
    NumbersOfThread<each> gate;
    NumbersOfThread<each> value;
    NumbersOfThread<each> gradient;
    gate.load(input + at);
    value.load(input + at + width.divisor());
    gradient.load(from + i);
    for (int k = 0; k < each; ++k) {
      value.values[k] = SwiGLU::backward_of_gate(gate.values[k], value.values[k], gradient.values[k]);
      gradient.values[k] = SwiGLU::backward_of_value(gate.values[k], gradient.values[k]);
    }
    value.store(to + at);
    gradient.store(to + at + width.divisor());
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// SwiGLU on CudaCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/cuda/swiglu_test
template <std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::SwiGLU, C> {
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    const std::int64_t width = call.leaf->out.shape.last();
    compute_room::launch_values_in_runs<compute_room::OpenGates, Value>(call.space.queue->stream, width, call.rows * call.leaf->out.elements(),
                                                                        compute_room::Divisor{width}, compute_room::values_at<Value>(call.input),
                                                                        compute_room::values_at<Value>(call.output));
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const std::int64_t width = call.leaf->out.shape.last();
    compute_room::launch_values_in_runs<compute_room::PullBackGates, Value>(call.space.queue->stream, width, call.rows * call.leaf->out.elements(),
                                                                            compute_room::Divisor{width}, compute_room::values_at<Value>(call.input),
                                                                            compute_room::values_at<Value>(call.output_gradient),
                                                                            compute_room::values_at<Value>(call.input_gradient));
  }
};

}  // namespace heddle
