// SPDX-License-Identifier: MIT
// Room: graph. The loss of a regression.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: predictions and targets of the same shape.  Out: a LossDescription.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/loss.hpp"

namespace heddle::graph_room {

/// (x - target)^2, mean over rows and features, as torch.nn.MSELoss.
///
/// Shape   predictions (B, ...) and targets of the same shape
/// Errors  G03 if the output is not float32
/// Tested  graph/losses/mean_squared_error_test, compute/eigen/losses_test
struct MeanSquaredError {
  using Target = float;

  static constexpr std::string_view name() { return "MeanSquaredError"; }
  static constexpr Diagnosis accepts(const Spec& output) {
    if (output.type == ElementType::float32) return {};
    return Diagnosis{Code{'G', 3}, name()} << " takes float32 but the model gives " << name_of(output.type)
                                           << ". Fix: end the model with a layer that gives float32.";
  }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return 4 * output.elements(); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::MeanSquaredError;
}  // namespace heddle
