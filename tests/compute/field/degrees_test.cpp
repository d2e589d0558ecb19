// SPDX-License-Identifier: MIT
#include "heddle/compute/field/degrees.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

constexpr Degrees number{0, 0}, x{1, 0}, square{2, 0}, quotient{0, 1};  // of 5, x, x y, 1 / x

}  // namespace

TEST_CASE("sums and products of polynomials have the degrees of polynomials") {
  static_assert(x + square == square);
  static_assert(x * square == Degrees{3, 0});
  static_assert(number + x == x);
  static_assert(square.of_difference() == 2);
}

TEST_CASE("a sum of quotients has the product of their denominators, whatever the order") {
  static_assert(x.inverse() == quotient);
  static_assert(quotient + quotient == Degrees{1, 2});              // (x + y) / x y
  static_assert((quotient + quotient).inverse() == Degrees{2, 1});  // x y / (x + y)
  static_assert(quotient + x == Degrees{2, 1});                     // (1 + x y) / x
  static_assert(quotient * square == Degrees{2, 1});
  static_assert((quotient + quotient).of_difference() == 3);
  Degrees forward;
  for (int i = 0; i < 64; ++i) forward = forward + square.inverse();
  CHECK(forward == Degrees{128, 128});
  Degrees first_half, second_half;
  for (int i = 0; i < 32; ++i) first_half = first_half + square.inverse();
  for (int i = 0; i < 32; ++i) second_half = square.inverse() + second_half;
  CHECK(first_half + second_half == forward);
}

TEST_CASE("of either of two is the larger numerator and the larger denominator") {
  static_assert(higher(square, quotient) == Degrees{2, 1});
  static_assert(higher_degrees(square.number(), quotient.number()) == Degrees{2, 1}.number());
}

TEST_CASE("one number keeps both, and a polynomial's is its degree; what is too high stays unknown in all that it goes into") {
  static_assert(square.number() == 2);
  for (const Degrees& all : {number, x, square, quotient, Degrees{31'000, 32'766}}) CHECK(Degrees::read(all.number()) == all);
  Degrees high = quotient;
  for (int i = 0; i < 20; ++i) high = high + high;
  for (const Degrees& all :
       {high, high.inverse(), high + x, quotient + high, high * x, high.inverse() * quotient, higher(x, high), high.inverse().inverse()})
    CHECK(Degrees::read(all.number()).of_difference() == Degrees::of_unknown);
  CHECK(high.number() < std::uint64_t{1} << 30U);
  CHECK(Degrees::read(2139095016).of_difference() == Degrees::of_unknown);  // a -1 that is written as an element
}
