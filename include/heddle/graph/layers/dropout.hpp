// SPDX-License-Identifier: MIT
// Room: graph. The name of a layer that this version does not have, so that a model with it is refused in one sentence.
// Sees: core.  Does not see: policies, devices, memory.
// In: -.  Out: Dropout, which is no layer.
#pragma once

#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::graph_room {

/// torch.nn.Dropout is not here yet.
///
/// Errors  G05 at build, wherever it stands for a layer
/// Tested  graph/layers/dropout_test, fail/G05_dropout
template <auto Probability> struct Dropout {
  static constexpr std::string_view not_in_this_version = "leave it out; weight_decay of AdamW also works against overfitting.";
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Dropout;
}  // namespace heddle
