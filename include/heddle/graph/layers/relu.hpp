// SPDX-License-Identifier: MIT
// Room: graph. ReLU of every element, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// max(x, 0), as torch.nn.ReLU: the derivative at 0 is 0, a NaN stays NaN.
///
/// Shape   any (...) stays as it is
/// Tested  graph/layers/relu_test, compute/eigen/elementwise_test
struct ReLU {
  static constexpr Leaf describe(Spec in) { return elementwise("ReLU", in, 1, Saves::output); }
  HEDDLE_HOST_DEVICE static float forward(float x) {
    if constexpr (finite_math_only)
      return __builtin_bit_cast(std::uint32_t, x) - 0x80000001U < 0x7f800000U ? 0.0F : x;  // the bits of -1e-45 to -infinity
    return x < 0 ? 0.0F : x;
  }
  HEDDLE_HOST_DEVICE static float backward(float y, float gradient) { return y <= 0 ? 0.0F : gradient; }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::ReLU;
}  // namespace heddle
