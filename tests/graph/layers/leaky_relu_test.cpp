// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/leaky_relu.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace heddle;

namespace {

template <class L> std::string refused() { return std::string{L::describe(Spec{Shape{4}}).fault.sentence().view()}; }

}  // namespace

TEST_CASE("what is negative comes through times the factor, and so does its gradient; 0 belongs to it, and a NaN stays") {
  using L = LeakyReLU<1, 4>;
  CHECK(L::forward(3) == 3);
  CHECK(L::forward(-2) == -0.5F);
  CHECK(L::forward(0) == 0);
  CHECK(std::isnan(L::forward(std::nanf(""))));
  CHECK(L::backward(L::forward(3), 8) == 8);
  CHECK(L::backward(L::forward(-2), 8) == 2);
  CHECK(L::backward(L::forward(0), 8) == 2);
  CHECK(LeakyReLU<>::forward(-1) == -0.01F);
}

TEST_CASE("an output has the sign of its input, down to the smallest number that is left of it") {
  for (float x = -1; x < -0x1p-120F; x /= 3) CHECK(LeakyReLU<>::forward(x) < 0);
}

TEST_CASE("LeakyReLU keeps any shape and saves its output") {
  static_assert(ElementwiseLayer<LeakyReLU<>>);
  constexpr Leaf leaf = LeakyReLU<>::describe(Spec{Shape{3, 5}});
  static_assert(leaf.fault.ok() && leaf.elementwise && leaf.saves == Saves::output && leaf.in == leaf.out && leaf.forward_flops == 2 * 15);
  CHECK(leaf.spelled.view() == "LeakyReLU<1, 100>");
}

TEST_CASE("a factor that is none, or would lose the sign, is refused") {
  CHECK(refused<LeakyReLU<1, 1>>() == "");
  CHECK(refused<LeakyReLU<0>>() ==
        "[heddle.G25] LeakyReLU<0, 100> has a factor that is not above 0 and at most 1. Fix: write LeakyReLU<1, 5> for 0.2, or ReLU for 0.");
  CHECK(refused<LeakyReLU<-1, 5>>().find("[heddle.G25] LeakyReLU<-1, 5> has a factor that is not above 0") == 0);
  CHECK(refused<LeakyReLU<1, 0>>().find("[heddle.G25] LeakyReLU<1, 0> has a factor that is not above 0") == 0);
  CHECK(refused<LeakyReLU<6, 5>>().find("[heddle.G25] LeakyReLU<6, 5> has a factor that is not above 0") == 0);
#ifndef __clang__
  CHECK(refused<LeakyReLU<0.2>>() ==
        "[heddle.G25] LeakyReLU names a factor that is no fraction of two whole numbers. Fix: write LeakyReLU<1, 5> for 0.2.");
#endif
}
