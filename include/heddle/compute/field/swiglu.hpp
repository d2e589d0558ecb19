// SPDX-License-Identifier: MIT
// Room: compute. SwiGLU in the field: the value times any function of its gate.
// Sees: graph/layers/swiglu, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<SwiGLU>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/swiglu.hpp"

namespace heddle::compute_room {

/// With any functions f and g of a gate: y = f(gate) value, d value = dy f(gate), d gate = dy value g(gate). Of 6 features 3 are gates.
///
/// Law     each gate has its own value, so a rank may have some of both
/// Tested  compute/field/swiglu_test
struct FieldSwiGLU {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) {
    each(*call.leaf, call.rows, [&](std::int64_t gate, std::int64_t value, std::int64_t out) {
      call.output[out] = Field::write(Field::times(open("value", call.input[gate]), Field::read(call.input[value])));
    });
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    each(*call.leaf, call.rows, [&](std::int64_t gate, std::int64_t value, std::int64_t out) {
      const std::uint64_t gradient = Field::read(call.output_gradient[out]);
      const std::uint64_t through = Field::times(gradient, Field::read(call.input[value]));
      call.input_gradient[value] = Field::write(Field::times(gradient, open("value", call.input[gate])));
      call.input_gradient[gate] = Field::write(Field::times(through, open("slope", call.input[gate])));
    });
  }

 private:
  [[nodiscard]] static std::uint64_t open(std::string_view role, float gate) {
    return Field::hash(symbol_of<graph_room::SwiGLU>(role), {Field::read(gate)});
  }
  template <class Visit> static void each(const Leaf& leaf, std::int64_t rows, const Visit& visit) {
    const std::int64_t features = leaf.out.shape.last();
    for (std::int64_t i = 0; i < rows * leaf.out.elements(); ++i)
      visit(i / features * 2 * features + i % features, i / features * 2 * features + features + i % features, i);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <> struct FieldKernel<graph_room::SwiGLU> : compute_room::FieldSwiGLU {};

}  // namespace heddle
