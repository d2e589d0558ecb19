// SPDX-License-Identifier: MIT
// Room: policy. One device: no axis, no communication; the reference that every plan is compared with.
// Sees: graph, mesh, core.  Does not see: memory, processes.
// In: a Graph.  Out: nothing is claimed.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Everything on one device.
///
/// Shape   batch (B, ...) stays (B, ...)
/// Tested  policy/single_test
struct Single {
  static constexpr void answer(const Graph&, Layout&) {}
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::Single;
}  // namespace heddle
