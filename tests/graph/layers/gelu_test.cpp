// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/gelu.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;  // half a unit in the last place of float

double exact(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
/// Central difference in double: truncation h^2 / 6 |f'''| <= 1e-10 / 6, cancellation 1e-15 / 1e-5; together below 2e-10.
double slope(double x) { return (exact(x + 1e-5) - exact(x - 1e-5)) / 2e-5; }

}  // namespace

TEST_CASE("GELU is x Phi(x) with the error function, PyTorch's default") {
  // The argument of erf is off by 2 u relative, erf by 2 u, the sum by 2 u (it is up to 2): the bracket by at most 6 u, times |x| / 2, two products.
  for (float x = -9; x <= 9; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(GELU::forward(x)) - exact(static_cast<double>(x))) <= 5 * u * std::abs(static_cast<double>(x)));
  CHECK(GELU::forward(0.0F) == 0.0F);
  CHECK(GELU::forward(100.0F) == 100.0F);
  CHECK(GELU::forward(-100.0F) == 0.0F);
  CHECK(std::abs(GELU::forward(1.0F) - 0.8413447F) < 1e-6F);  // Phi(1), not the 0.8411920 of the tanh form
}

TEST_CASE("its derivative is that of finite differences") {
  // Phi within 3 u as above; x phi(x) <= 0.25 with exp's argument off by 2 u relative (x^2 / 2 <= 41) where phi itself vanishes: below 5 u in all.
  for (float x = -9; x <= 9; x += 0.0371F)
    CHECK(std::abs(static_cast<double>(GELU::backward(x, 1.0F)) - slope(static_cast<double>(x))) <= 8 * u + 2e-10);
  CHECK(GELU::backward(0.0F, 4.0F) == 2.0F);
}

TEST_CASE("GELUTanh is the form with tanh, and its derivative that of finite differences") {
  const auto value = [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); };
  // The argument of tanh is off by 5 u relative; t' t <= 0.45, so tanh by 3 u and its own 2 u, and 1 + t by 6 u: times |x| / 2.
  double far = 0;
  for (float x = -9; x <= 9; x += 0.0371F) {
    const auto wide = static_cast<double>(x);
    CHECK(std::abs(static_cast<double>(GELUTanh::forward(x)) - value(wide)) <= 6 * u * std::abs(wide));
    CHECK(std::abs(static_cast<double>(GELUTanh::backward(x, 1.0F)) - (value(wide + 1e-5) - value(wide - 1e-5)) / 2e-5) <= 40 * u);
    far = std::max(far, std::abs(static_cast<double>(GELUTanh::forward(x) - GELU::forward(x))));
  }
  CHECK(far > 4e-4);
  CHECK(far < 5e-4);
  CHECK(GELUTanh::forward(0.0F) == 0.0F);
  CHECK(GELUTanh::forward(100.0F) == 100.0F);
  CHECK(GELUTanh::forward(-100.0F) == 0.0F);
  CHECK(std::abs(GELUTanh::forward(1.0F) - 0.8411920F) < 1e-6F);
  CHECK(GELUTanh::backward(0.0F, 4.0F) == 2.0F);
  CHECK(GELUTanh::backward(100.0F, 3.0F) == 3.0F);
  CHECK(GELUTanh::backward(-100.0F, 3.0F) == 0.0F);
  static_assert(ElementwiseLayer<GELUTanh>);
}

TEST_CASE("GELU keeps any shape, has no parameters and saves its input") {
  static_assert(ElementwiseLayer<GELU>);
  constexpr Leaf leaf = GELU::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::input);
  static_assert(leaf.in == leaf.out && leaf.out == Spec{Shape{3, 5}});
  CHECK(leaf.kind.view() == "GELU");
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.forward_flops == 8 * 15);
}
