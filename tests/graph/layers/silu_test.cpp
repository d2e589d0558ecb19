// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/silu.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;  // half a unit in the last place of float

double exact(double x) { return x / (1 + std::exp(-x)); }
/// Central difference in double: below 2e-10, as of GELU.
double slope(double x) { return (exact(x + 1e-5) - exact(x - 1e-5)) / 2e-5; }

}  // namespace

TEST_CASE("SiLU is x / (1 + exp(-x))") {
  // exp is off by 2 u relative, the sum and the quotient by u each: 4 u of the result.
  for (float x = -20; x <= 20; x += 0.0371F) {
    const double wanted = exact(static_cast<double>(x));
    CHECK(std::abs(static_cast<double>(SiLU::forward(x)) - wanted) <= 5 * u * std::abs(wanted));
  }
  CHECK(SiLU::forward(0.0F) == 0.0F);
  CHECK(SiLU::forward(200.0F) == 200.0F);
  CHECK(SiLU::forward(-200.0F) == 0.0F);
  CHECK(std::isnan(SiLU::forward(std::nanf(""))));
}

TEST_CASE("its derivative is that of finite differences") {
  // s within 4 u, 1 - s within 5 u of 1, times |x| <= 20 and s: where x is negative s is below exp(x), so x s stays below 0.37.
  for (float x = -20; x <= 20; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(SiLU::backward(x, 1.0F)) - slope(static_cast<double>(x))) <=
          6 * u * (1 + std::abs(static_cast<double>(x))) + 1e-9);
  CHECK(SiLU::backward(0.0F, 4.0F) == 2.0F);
  CHECK(SiLU::backward(200.0F, 3.0F) == 3.0F);
}

TEST_CASE("SiLU keeps any shape, has no parameters and saves its input") {
  static_assert(ElementwiseLayer<SiLU>);
  constexpr Leaf leaf = SiLU::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::input && leaf.in == leaf.out && leaf.parameter_count == 0);
  static_assert(leaf.forward_flops == 8 * 15);
  CHECK(leaf.kind.view() == "SiLU");
}
