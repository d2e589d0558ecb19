// SPDX-License-Identifier: MIT
// Room: graph. ReLU that lets a part of what is negative through, one forward and one backward for host and device.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// What LeakyReLU does, its factor as a number: with 0.2 it takes -5 to -1.
struct Leak {
  float factor;
  [[nodiscard]] HEDDLE_HOST_DEVICE float forward(float x) const { return x > 0 ? x : factor * x; }
  [[nodiscard]] HEDDLE_HOST_DEVICE float backward(float y, float gradient) const { return y > 0 ? gradient : factor * gradient; }
};

/// x where x is above 0, else x times Numerator / Denominator, as torch.nn.LeakyReLU, whose 0.01 is LeakyReLU<>. LeakyReLU<1, 5> has 0.2: two whole
/// numbers, since not every compiler takes 0.2 among template arguments. The derivative at 0 is that of what is negative. The sign of an output is
/// that of its input, so the output is what is saved.
///
/// Shape   any (...) stays as it is
/// Errors  G25 if the factor is not a fraction of two whole numbers, above 0 and at most 1
/// Source  sources.md#leaky-relu
/// Tested  graph/layers/leaky_relu_test, compute/eigen/elementwise_test, fail/G25_leak_of_nothing
template <auto Numerator = 1, auto Denominator = 100> struct LeakyReLU {
  using KernelLayer = LeakyReLU;
  static constexpr bool is_fraction = std::integral<std::remove_cv_t<decltype(Numerator)>> && std::integral<std::remove_cv_t<decltype(Denominator)>>;
  static constexpr float factor = static_cast<float>(static_cast<double>(Numerator) / static_cast<double>(Denominator == 0 ? 1 : Denominator));

  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("LeakyReLU", in, 2, Saves::output);
    if constexpr (!is_fraction) {
      leaf.fault = Diagnosis{Code{'G', 25}, "LeakyReLU names a factor that is no fraction of two whole numbers. Fix: write LeakyReLU<1, 5> for 0.2."};
    } else {
      leaf.spelled = graph_room::spelled("LeakyReLU", static_cast<std::int64_t>(Numerator), static_cast<std::int64_t>(Denominator));
      if (Numerator < 1 || Numerator > Denominator || factor < 0x1p-20F)
        leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()}
                     << " has a factor that is not above 0 and at most 1. Fix: write LeakyReLU<1, 5> for 0.2, or ReLU for 0.";
    }
    return leaf;
  }
  HEDDLE_HOST_DEVICE static float forward(float x) { return Leak{factor}.forward(x); }
  HEDDLE_HOST_DEVICE static float backward(float y, float gradient) { return Leak{factor}.backward(y, gradient); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::LeakyReLU;
}  // namespace heddle
