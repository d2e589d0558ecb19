// SPDX-License-Identifier: MIT
// Room: graph. The loss of a model that is only applied: none.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: any output.  Out: a LossDescription without targets.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/loss.hpp"

namespace heddle::graph_room {

/// What an Inference has in the place of a loss: no targets, no operations.
///
/// Tested  graph/losses/no_loss_test
struct NoLoss {
  using Target = float;
  static constexpr bool trains = false;  ///< no backward is run

  static constexpr std::string_view name() { return "NoLoss"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec&) { return 0; }
  static constexpr std::int64_t flops(const Spec&) { return 0; }
};

}  // namespace heddle::graph_room
