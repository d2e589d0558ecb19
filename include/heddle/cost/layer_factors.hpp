// SPDX-License-Identifier: MIT
// Room: cost. How many times as long layers take as a Machine says, where someone has measured them.
// Sees: plan/program.  Does not see: processes, threads, kernels.
// In: factors by layer.  Out: LayerFactors, what an entry of a body is multiplied with.
#pragma once

#include "heddle/plan/program/program.hpp"

namespace heddle::cost_room {

/// A view of factors by layer of the model; without any each layer takes what the Machine says. With factors 1 and 3 the second layer takes three
/// times as long, forwards and backwards.
///
/// Tested  cost/layer_factors_test
struct LayerFactors {
  const double* of_layer = nullptr;
  int layers = 0;  ///< 0: none was measured

  /// What runs one of so many layers: not what moves values between layers or ranks, adds their gradients, or is the loss.
  [[nodiscard]] static constexpr bool runs_a_layer(const Entry& entry, int layers) {
    const bool runs = entry.what == BodyOp::leaf_forward || entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_input ||
                      entry.what == BodyOp::leaf_backward_weight || entry.what == BodyOp::add;
    return runs && entry.node >= 0 && entry.node < layers;
  }
  [[nodiscard]] constexpr double of(const Entry& entry) const { return runs_a_layer(entry, layers) ? of_layer[entry.node] : 1; }
};

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::LayerFactors;
}  // namespace heddle::extending
