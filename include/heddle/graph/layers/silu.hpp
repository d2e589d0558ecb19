// SPDX-License-Identifier: MIT
// Room: graph. The sigmoid linear unit of every element, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cmath>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// x s(x) with s(x) = 1 / (1 + exp(-x)), as torch.nn.SiLU; also known as Swish.
/// Flops: a transcendental function counts one.
///
/// Shape   any (...) stays as it is
/// Source  sources.md#swish
/// Tested  graph/layers/silu_test, compute/eigen/elementwise_test
struct SiLU {
  static constexpr Leaf describe(Spec in) { return elementwise("SiLU", in, 8, Saves::input); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1.0F + std::exp(-x)); }
  /// d/dx x s(x) = s(x) (1 + x (1 - s(x)))
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float open = 1.0F / (1.0F + std::exp(-x));
    return gradient * (open * (1.0F + x * (1.0F - open)));
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::SiLU;
}  // namespace heddle
