// SPDX-License-Identifier: MIT
// Room: graph. The logistic function of every element, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cmath>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// 1 / (1 + exp(-x)), as torch.nn.Sigmoid. Flops: a transcendental function counts one.
///
/// Shape   any (...) stays as it is
/// Tested  graph/layers/sigmoid_test, compute/eigen/elementwise_test
struct Sigmoid {
  static constexpr Leaf describe(Spec in) { return elementwise("Sigmoid", in, 4, Saves::output); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return 1.0F / (1.0F + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float y, float gradient) { return gradient * (1.0F - y) * y; }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Sigmoid;
}  // namespace heddle
