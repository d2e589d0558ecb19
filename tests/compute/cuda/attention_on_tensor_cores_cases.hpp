// SPDX-License-Identifier: MIT
// Attention whose products are those of tensor cores, held against loops in double that know what is rounded.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "compute/cuda/attention_cases.hpp"

namespace attention_cases {

/// What a factor is rounded to: TF32, or bfloat16, which values are kept in as well.
template <class Value> inline constexpr bool in_floats = std::is_same_v<Value, float>;
template <class Value> inline constexpr conformance::Roundings roundings{in_floats<Value> ? 0x1p-11 : 0x1p-8, in_floats<Value> ? 0 : 0x1p-8};

/// Floats as values on a card, and what comes of them as floats again.
template <class Value> struct Values {
  std::vector<Value> values;
  float* host;

  Values(const float* from, std::int64_t n) : values(static_cast<std::size_t>(n)), host(const_cast<float*>(from)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (in_floats<Value>)
        values[i] = from[i];
      else
        values[i] = core_room::rounded(from[i]);
    }
  }
  float* given(conformance::CardTensors& card) { return reinterpret_cast<float*>(card.given(values.data(), std::ssize(values))); }
  float* made(conformance::CardTensors& card) { return reinterpret_cast<float*>(card.made(values.data(), std::ssize(values))); }
  void finish() const {
    for (std::size_t i = 0; i < values.size(); ++i) host[i] = as_float(values[i]);
  }
};

/// A Compute whose tensors are floats on the host, and whose kernels are those of a card for values of a type; floats may be rounded to TF32.
template <class Value> struct TensorCores {
  static constexpr Bytes workspace{0};
  template <class L> struct KernelOf {
    static void forward(const ForwardCall& call) {
      conformance::CardTensors card;
      Values<Value> input(call.input, call.rows * call.leaf->in.elements()), output(call.output, call.rows * call.leaf->out.elements());
      ForwardCallIn<CudaMemory> there{call.leaf, call.rows, input.given(card), output.made(card)};
      there.context = call.context;
      there.statistics = card.made(call.statistics, call.rows * call.leaf->statistics_elements());
      const CudaQueue queue = queue_of(card, call.context);
      there.space = {&queue};
      Kernel<L, CudaCompute>::template forward<Value>(there);
      card.finish();
      output.finish();
    }
    static void backward(const BackwardCall& call) {
      conformance::CardTensors card;
      const std::int64_t in = call.rows * call.leaf->in.elements(), out = call.rows * call.leaf->out.elements();
      Values<Value> input(call.input, in), output(call.output, out), output_gradient(call.output_gradient, out), gradient(call.input_gradient, in);
      BackwardCallIn<CudaMemory> there{call.leaf, call.rows, input.given(card), output.given(card)};
      there.output_gradient = output_gradient.given(card);
      there.input_gradient = gradient.made(card);
      there.context = call.context;
      there.statistics = card.given(call.statistics, call.rows * call.leaf->statistics_elements());
      const CudaQueue queue = queue_of(card, call.context);
      there.space = {&queue};
      Kernel<L, CudaCompute>::template backward<Value>(there);
      card.finish();
      gradient.finish();
    }

   private:
    static CudaQueue queue_of(conformance::CardTensors& card, const CallContext& context) {
      CudaNumbers numbers;
      numbers.step = context.step;
      CudaQueue queue = *card.space(numbers).queue;
      queue.tf32 = in_floats<Value>;
      return queue;
    }
  };
};
template <class L, class Value> using OnTensorCores = LeafUnderTest<L, TensorCores<Value>>;

/// What a product sees of the numbers, as AttentionForwardOnTensorCores says.
template <class Value> void round(Floats& numbers) {
  for (float& x : numbers) x = in_floats<Value> ? as_factor(x) : core_room::widened(core_room::rounded(x));
}
/// Outputs, log-sums and gradients of operands that need no rounding. Everything before has been NaN.
template <class Value>
void follow(AnyLeafUnderTest& card, std::int64_t rows, std::int64_t first_row, conformance::Results (*loops)(const conformance::Tensors&)) {
  CAPTURE(card.leaf().in.shape.sizes[0]);
  CAPTURE(card.leaf().in.shape.last());
  CAPTURE(in_floats<Value>);
  card.context = third_step_from_row(first_row);
  round<Value>(card.input);
  round<Value>(card.output_gradient);
  run(card, rows);
  const std::vector<Floats> none;
  const conformance::Results wanted = loops({card.leaf(), rows, card.input, card.output_gradient, card.parameters, none, card.context, card.second});
  CHECK(conformance::off("the output", card.output, wanted.output) == "");
  CHECK(conformance::off("the statistics", card.statistics, wanted.statistics) == "");
  CHECK(conformance::off("the gradient of the input", card.input_gradient, wanted.input_gradient) == "");
  CHECK(card.beside == nullptr);
}
template <class L, class Value> void tensor_cores_follow(const Shape& shape, std::int64_t rows, std::int64_t first_row = 5) {
  OnTensorCores<L, Value> card{L::describe(Spec{shape}), rows, Seed{1}};
  follow<Value>(card, rows, first_row, [](const conformance::Tensors& t) { return conformance::Slow<L>::run(t, {}, roundings<Value>); });
}

}  // namespace attention_cases
