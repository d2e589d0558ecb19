// SPDX-License-Identifier: MIT
// Room: graph. The hyperbolic tangent of every element, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cmath>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// tanh(x), as torch.nn.Tanh. Flops: a transcendental function counts one.
///
/// Shape   any (...) stays as it is
/// Tested  graph/layers/tanh_test, compute/eigen/elementwise_test
struct Tanh {
  static constexpr Leaf describe(Spec in) { return elementwise("Tanh", in, 3, Saves::output); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return std::tanh(x); }
  HEDDLE_HOST_DEVICE static float backward(float y, float gradient) { return gradient * (1.0F - y * y); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Tanh;
}  // namespace heddle
