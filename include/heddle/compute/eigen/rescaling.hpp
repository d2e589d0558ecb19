// SPDX-License-Identifier: MIT
// Room: compute. Rescaling on the CPU: a byte is looked up in a table of 256 numbers.
// Sees: graph/layers/rescaling, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall.  Out: Kernel<Rescaling, EigenCompute>.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/rescaling.hpp"

namespace heddle {

/// Rescaling on EigenCompute or what derives from it. There is nothing for a backward to make.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/rescaling_test
template <std::int64_t Numerator, std::int64_t Denominator, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Rescaling<Numerator, Denominator>, C> {
  static constexpr std::array<float, 256> number_of = graph_room::Rescaling<Numerator, Denominator>::numbers();

  static void forward(const seams_room::ForwardCall& call) {
    const std::int64_t elements = call.rows * call.leaf->in.elements();
    for (std::int64_t i = 0; i < elements; ++i) call.output[i] = number_of[call.bytes[i]];
  }
  static void backward(const seams_room::BackwardCall&) {}
};

}  // namespace heddle
