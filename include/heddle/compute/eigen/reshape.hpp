// SPDX-License-Identifier: MIT
// Room: compute. Flatten and Unflatten: the same elements under another shape.
// Sees: graph/layers, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<Flatten, EigenCompute>, Kernel<Unflatten, EigenCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/unflatten.hpp"

namespace heddle::compute_room {

/// A copy, or nothing where both are one array.
struct Reshape {
  static void forward(const ForwardCall& call) {
    if (call.output != call.input) EigenCompute::copy(call.output, call.input, call.rows * call.leaf->in.elements());
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr && call.input_gradient != call.output_gradient)
      EigenCompute::copy(call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// Tested  compute/eigen/reshape_test
template <std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::Flatten, C> : compute_room::Reshape {};
template <std::int64_t... Sizes, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Unflatten<Sizes...>, C> : compute_room::Reshape {};

}  // namespace heddle
