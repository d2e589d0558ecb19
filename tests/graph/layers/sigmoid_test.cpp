// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/sigmoid.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;  // half a unit in the last place of float

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
/// Central difference in double: truncation h^2 / 6 |f'''| <= 1e-10 / 6, cancellation 1e-16 / 1e-5; together below 1e-10.
double slope(double x) { return (logistic(x + 1e-5) - logistic(x - 1e-5)) / 2e-5; }

}  // namespace

TEST_CASE("Sigmoid agrees with the double function to three units in the last place") {
  // exp 2 u, the sum and the quotient u each, second order below one more u.
  for (float x = -40; x <= 40; x += 0.0971F)
    CHECK(std::abs(static_cast<double>(Sigmoid::forward(x)) - logistic(static_cast<double>(x))) <= 5 * u * logistic(static_cast<double>(x)));
  CHECK(Sigmoid::forward(0.0F) == 0.5F);
  CHECK(Sigmoid::forward(-200.0F) == 0.0F);
  CHECK(Sigmoid::forward(200.0F) == 1.0F);
}

TEST_CASE("its derivative is that of finite differences") {
  // y (1 - y) with y in error by 5 u: the slope of y (1 - y) is at most 1, three operations round: 8 u.
  for (float x = -12; x <= 12; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(Sigmoid::backward(Sigmoid::forward(x), 1.0F)) - slope(static_cast<double>(x))) <= 8 * u + 1e-10);
  CHECK(Sigmoid::backward(0.25F, 16.0F) == 3.0F);
}

TEST_CASE("Sigmoid keeps any shape, has no parameters and saves its output") {
  static_assert(ElementwiseLayer<Sigmoid>);
  constexpr Leaf leaf = Sigmoid::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::output);
  static_assert(leaf.in == leaf.out && leaf.out == Spec{Shape{3, 5}});
  CHECK(leaf.kind.view() == "Sigmoid");
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.forward_flops == 4 * 15);
}
