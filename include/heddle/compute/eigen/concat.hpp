// SPDX-License-Identifier: MIT
// Room: compute. Concat: runs of both values one behind the other, and back.
// Sees: graph/layers/concat, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<ConcatAlong, EigenCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/concat.hpp"

namespace heddle {

/// ConcatAlong on EigenCompute or what derives from it: elements are moved, none is computed.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/concat_test
template <int D, std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::ConcatAlong<D>, C> {
  static void forward(const seams_room::ForwardCall& call) {
    const graph_room::ConcatParts parts = of(*call.leaf);
    const float* first = call.input;
    const float* second = call.second;
    float* to = call.output;
    for (std::int64_t i = 0; i < call.rows * parts.runs; ++i, first += parts.first, second += parts.second) {
      to = std::copy_n(first, parts.first, to);
      to = std::copy_n(second, parts.second, to);
    }
  }
  /// The gradient of one value is its part of that of the output.
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const graph_room::ConcatParts parts = of(*call.leaf);
    const std::int64_t wanted = call.operand == 0 ? parts.first : parts.second;
    const float* from = call.output_gradient + (call.operand == 0 ? 0 : parts.first);
    float* to = call.input_gradient;
    for (std::int64_t i = 0; i < call.rows * parts.runs; ++i, from += parts.first + parts.second) to = std::copy_n(from, wanted, to);
  }

 private:
  static graph_room::ConcatParts of(const graph_room::Leaf& leaf) { return {leaf, graph_room::ConcatAlong<D>::dimension(leaf.out.shape)}; }
};

}  // namespace heddle
