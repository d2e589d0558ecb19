// SPDX-License-Identifier: MIT
// Room: compute. Flatten and Unflatten in the field: the same elements under another shape.
// Sees: graph/layers, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Flatten>, FieldKernel<Unflatten>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/unflatten.hpp"

namespace heddle::compute_room {

/// A copy, or nothing where both are one array.
///
/// Tested  compute/field/reshape_test
struct FieldReshape {
  static constexpr bool of_heddle = true;
  static void forward(const ForwardCall& call) {
    if (call.output != call.input) FieldCompute::copy(call.output, call.input, call.rows * call.leaf->in.elements());
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr && call.input_gradient != call.output_gradient)
      FieldCompute::copy(call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <> struct FieldKernel<graph_room::Flatten> : compute_room::FieldReshape {};
template <std::int64_t... Sizes> struct FieldKernel<graph_room::Unflatten<Sizes...>> : compute_room::FieldReshape {};

}  // namespace heddle
