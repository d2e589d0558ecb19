// SPDX-License-Identifier: MIT
// Room: compute. Layers of one element each, as any function: a hash of the element; the backward is linear in the gradient.
// Sees: graph/leaf, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<ElementwiseLayer>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::compute_room {

/// y = f(x), dx = dy f'(saved), where f and f' are any two functions, the same ones wherever the layer stands. A user's own layer needs no line.
///
/// Tested  compute/field/elementwise_test
template <ElementwiseLayer L> struct FieldElementwise {
  static constexpr bool of_heddle = true;
  static void forward(const ForwardCall& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i)
      call.output[i] = Field::write(Field::hash(symbol_of<L>("forward"), {Field::read(call.input[i])}));
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const float* const saved = call.leaf->saves == Saves::output ? call.output : call.leaf->saves == Saves::nothing ? nullptr : call.input;
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) {
      const std::uint64_t slope = Field::hash(symbol_of<L>("backward"), {saved == nullptr ? 0 : Field::read(saved[i])});
      call.input_gradient[i] = Field::write(Field::times(Field::read(call.output_gradient[i]), slope));
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <graph_room::ElementwiseLayer L> struct FieldKernel<L> : compute_room::FieldElementwise<L> {};

}  // namespace heddle
