// SPDX-License-Identifier: MIT
// Room: graph. The Gaussian error linear unit of every element, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cmath>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// x Phi(x) with the normal distribution function Phi(x) = (1 + erf(x / sqrt(2))) / 2: the exact form, torch.nn.GELU's default.
/// Flops: a transcendental function counts one.
///
/// Shape   any (...) stays as it is
/// Source  sources.md#gelu
/// Tested  graph/layers/gelu_test, compute/eigen/elementwise_test
struct GELU {
  static constexpr float root_of_half = 0.70710678118654752440F;
  static constexpr float density_at_zero = 0.39894228040143267794F;  // 1 / sqrt(2 pi)

  static constexpr Leaf describe(Spec in) { return elementwise("GELU", in, 8, Saves::input); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return 0.5F * x * (1.0F + std::erf(x * root_of_half)); }
  /// d/dx x Phi(x) = Phi(x) + x phi(x)
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float distribution = 0.5F * (1.0F + std::erf(x * root_of_half));
    const float density = density_at_zero * std::exp(-0.5F * x * x);
    return gradient * (distribution + x * density);
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::GELU;
}  // namespace heddle
