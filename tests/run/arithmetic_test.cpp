// SPDX-License-Identifier: MIT
#include "heddle/run/arithmetic.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>

using namespace heddle;

namespace {

struct Plain {};
struct Counting {
  struct Arithmetic : FloatArithmetic {
    static float plus(float a, float b) { return 1 + FloatArithmetic::plus(a, b); }
  };
};

}  // namespace

TEST_CASE("a backend without an arithmetic has that of floats, another its own") {
  static_assert(arithmetic_of<Plain>().plus == &FloatArithmetic::plus);
  CHECK(arithmetic_of<Plain>().plus(2, 3) == 5);
  CHECK(arithmetic_of<Counting>().plus(2, 3) == 6);
  CHECK((arithmetic_of<Counting>().clip == &FloatArithmetic::clip));
}

TEST_CASE("what is tracked goes its momentum of the way to the mean of so many values") {
  float values[] = {1, -2};
  const float sums[] = {30, 0};
  FloatArithmetic::fold(values, sums, 2, 0.25F, 10);
  CHECK((values[0] == 1.5F && values[1] == -1.5F));
  FloatArithmetic::fold(values, sums, 2, 0, 10);
  CHECK((values[0] == 1.5F && values[1] == -1.5F));
  FloatArithmetic::fold(values, sums, 1, 1, 10);
  CHECK((values[0] == doctest::Approx(3.0) && values[1] == -1.5F));
}

TEST_CASE("each value is taken to the limit, an infinite one as well, and what is no number stays so") {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  float gradients[] = {3, -4, 0.5F, -0.5F, infinite, -infinite, std::numeric_limits<float>::quiet_NaN()};
  FloatArithmetic::clip_values(gradients, nullptr, 7, 0.5F);
  CHECK((gradients[0] == 0.5F && gradients[1] == -0.5F && gradients[2] == 0.5F && gradients[3] == -0.5F));
  CHECK((gradients[4] == 0.5F && gradients[5] == -0.5F && std::isnan(gradients[6])));
}

TEST_CASE("the norm is the root of all squares, and gradients above the greatest norm are shrunk to it") {
  const float squares[] = {9, 16, 0};
  CHECK(FloatArithmetic::norm(squares, 3) == 5);
  CHECK(FloatArithmetic::clip_factor(5, 1) == doctest::Approx(0.2));
  CHECK(FloatArithmetic::clip_factor(0.5F, 1) == 1);
  float gradients[] = {3, -4};
  FloatArithmetic::clip(gradients, 2, FloatArithmetic::clip_factor(5, 10));
  CHECK((gradients[0] == 3 && gradients[1] == -4));
  FloatArithmetic::clip(gradients, 2, 0.5F);
  CHECK((gradients[0] == 1.5F && gradients[1] == -2));
  CHECK(FloatArithmetic::multiply(gradients, 2, 2));
  gradients[1] = std::numeric_limits<float>::infinity();
  CHECK_FALSE(FloatArithmetic::multiply(gradients, 2, 2));
}
