// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/tanh.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;  // half a unit in the last place of float

/// Central difference in double: truncation h^2 / 6 |f'''| <= 1e-10 / 6 x 2, cancellation 1e-16 / 1e-5; together below 1e-10.
double slope(double x) { return (std::tanh(x + 1e-5) - std::tanh(x - 1e-5)) / 2e-5; }

}  // namespace

TEST_CASE("Tanh agrees with the double function to two units in the last place") {
  for (float x = -9; x <= 9; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(Tanh::forward(x)) - std::tanh(static_cast<double>(x))) <= 4 * u * std::abs(std::tanh(static_cast<double>(x))));
  CHECK(Tanh::forward(0.0F) == 0.0F);
  CHECK(Tanh::forward(100.0F) == 1.0F);
}

TEST_CASE("its derivative is that of finite differences") {
  // y has error 4 u and enters squared: 8 u; the product, the difference and the outer product round once each: 3 u.
  for (float x = -6; x <= 6; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(Tanh::backward(Tanh::forward(x), 1.0F)) - slope(static_cast<double>(x))) <= 11 * u + 1e-10);
  CHECK(Tanh::backward(0.5F, 4.0F) == 3.0F);
}

TEST_CASE("Tanh keeps any shape, has no parameters and saves its output") {
  static_assert(ElementwiseLayer<Tanh>);
  constexpr Leaf leaf = Tanh::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::output);
  static_assert(leaf.in == leaf.out && leaf.out == Spec{Shape{3, 5}});
  CHECK(leaf.kind.view() == "Tanh");
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.forward_flops == 3 * 15);
}
