// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/relu.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace heddle;

namespace {

double slope(double x) { return x > 0 ? 1 : 0; }

}  // namespace

TEST_CASE("ReLU is max(x, 0), exactly, and a NaN stays one") {
  for (const float x : {-3.5F, -1e-30F, 0.0F, 1e-30F, 7.25F}) CHECK(ReLU::forward(x) == std::fmax(x, 0.0F));
  CHECK(std::isnan(ReLU::forward(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("the gradient passes where the output is positive, and is 0 at 0 as in PyTorch") {
  for (const float x : {-2.0F, -1e-30F, 0.0F, 1e-30F, 2.0F})
    CHECK(static_cast<double>(ReLU::backward(ReLU::forward(x), 3.0F)) == 3 * slope(static_cast<double>(x)));
}

TEST_CASE("ReLU keeps any shape, has no parameters and saves its output") {
  static_assert(ElementwiseLayer<ReLU>);
  constexpr Leaf leaf = ReLU::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::output);
  static_assert(leaf.in == leaf.out && leaf.out == Spec{Shape{3, 5}});
  CHECK(leaf.kind.view() == "ReLU");
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.forward_flops == 1 * 15);
}
