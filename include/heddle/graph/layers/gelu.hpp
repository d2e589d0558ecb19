// SPDX-License-Identifier: MIT
// Room: graph. The Gaussian error linear unit of every element, exact and as GPT-2 has it, one forward and one backward for host and device.
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

/// The form with tanh, which GPT-2 was trained with: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as torch.nn.GELU(approximate="tanh") and
/// "gelu_new" of Hugging Face. It differs from GELU by up to 5e-4.
///
/// Shape   any (...) stays as it is
/// Source  sources.md#gelu
/// Tested  graph/layers/gelu_test, golden/gpt2_checkpoint_test
struct GELUTanh {
  static constexpr float root_of_two_over_pi = 0.79788456080286535588F;
  static constexpr float cubic = 0.044715F;

  static constexpr Leaf describe(Spec in) { return elementwise("GELUTanh", in, 9, Saves::input); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return 0.5F * x * (1.0F + std::tanh(root_of_two_over_pi * (x + cubic * x * x * x))); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float t = std::tanh(root_of_two_over_pi * (x + cubic * x * x * x));
    const float inner = root_of_two_over_pi * (1.0F + 3.0F * cubic * x * x);
    return gradient * 0.5F * (1.0F + t + x * (1.0F - t * t) * inner);
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::GELU, graph_room::GELUTanh;
}  // namespace heddle
