// SPDX-License-Identifier: MIT
// Room: compute. SwiGLU on the CPU: each gate with its value, by blocks.
// Sees: graph/layers/swiglu, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<SwiGLU, EigenCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/swiglu.hpp"

namespace heddle {

/// SwiGLU on EigenCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/swiglu_test
template <std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::SwiGLU, C> {
  static void forward(const seams_room::ForwardCall& call) {
    each_block(*call.leaf, call.rows, [&](std::int64_t in, std::int64_t features, std::int64_t out, std::int64_t left) {
      compute_room::FloatBlock gate;
      compute_room::FloatBlock value;
      gate.load(call.input + in, left);
      value.load(call.input + in + features, left);
      compute_room::for_lanes([&](int l) { value.values[l] = graph_room::SwiGLU::let_through(gate.values[l], value.values[l]); });
      value.store(call.output + out, left);
    });
  }
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    each_block(*call.leaf, call.rows, [&](std::int64_t in, std::int64_t features, std::int64_t out, std::int64_t left) {
      compute_room::FloatBlock gate;
      compute_room::FloatBlock value;
      compute_room::FloatBlock gradient;
      gate.load(call.input + in, left);
      value.load(call.input + in + features, left);
      gradient.load(call.output_gradient + out, left);
      compute_room::for_lanes([&](int l) {
        value.values[l] = graph_room::SwiGLU::backward_of_gate(gate.values[l], value.values[l], gradient.values[l]);
        gradient.values[l] = graph_room::SwiGLU::backward_of_value(gate.values[l], gradient.values[l]);
      });
      value.store(call.input_gradient + in, left);
      gradient.store(call.input_gradient + in + features, left);
    });
  }

 private:
  /// visit(place of the gate, distance of its value, place of the output, elements up to the end of the half)
  template <class Visit> static void each_block(const graph_room::Leaf& leaf, std::int64_t rows, const Visit& visit) {
    const std::int64_t features = leaf.out.shape.last();
    const std::int64_t vectors = rows * (leaf.out.elements() / features);
    for (std::int64_t v = 0; v < vectors; ++v)
      for (std::int64_t i = 0; i < features; i += compute_room::block_elements) visit(2 * v * features + i, features, v * features + i, features - i);
  }
};

}  // namespace heddle
