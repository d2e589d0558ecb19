// SPDX-License-Identifier: MIT
#include "heddle/mesh/distributed.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <vector>

using namespace heddle;

namespace {

using Term = Distributed<float, Partial<axis::data>>;
using Whole = Distributed<float>;
using Part = Distributed<float, Shard<axis::data>>;

float reads(const Whole& x) { return x.value(); }

}  // namespace

TEST_CASE("a distributed value is as large as the value, and the order of axes is no other type") {
  static_assert(sizeof(Term) == sizeof(float));
  static_assert(std::is_same_v<Distributed<float, Replicate>, Whole>);
  static_assert(std::is_same_v<Distributed<float, Partial<axis::data>, Partial<axis::shard>>, Distributed<float, Partial<axis::shard, axis::data>>>);
  static_assert(!std::is_same_v<Term, Whole> && !std::is_same_v<Distributed<float, Partial<axis::stage>>, Term>);
  CHECK(Whole{2.0F}.value() == 2.0F);
}

TEST_CASE("linear operations keep a sum a sum: sums of the same axes, and constants") {
  constexpr Term a{2.0F};
  constexpr Term b{3.0F};
  static_assert(std::is_same_v<decltype(a + b), Term> && (a + b).held_by_this_rank() == 5.0F);
  static_assert(std::is_same_v<decltype(a - b), Term> && (a - b).held_by_this_rank() == -1.0F);
  static_assert(std::is_same_v<decltype(0.5 * a), Term> && (0.5 * a).held_by_this_rank() == 1.0F);  // a double constant leaves it a float
  static_assert(std::is_same_v<decltype(a * Whole{4.0F}), Term> && (Whole{4.0F} * a).held_by_this_rank() == 8.0F);
  static_assert(std::is_same_v<decltype(a / 2), Term> && (a / 2).held_by_this_rank() == 1.0F);
  static_assert(std::is_same_v<decltype(-a), Term> && (-a).held_by_this_rank() == -2.0F);
  CHECK((a + b).held_by_this_rank() == 5.0F);
}

TEST_CASE("whole values do what floats do") {
  const Whole x{4.0F};
  CHECK((x + 1).value() == 5.0F);
  CHECK((1 - x).value() == -3.0F);
  CHECK((x * x).value() == 16.0F);
  CHECK((1 / x).value() == 0.25F);
  CHECK(log(x).value() == std::log(4.0F));
  CHECK(exp(x).value() == std::exp(4.0F));
  CHECK(sqrt(x).value() == 2.0F);
  CHECK(transform(x, [](float v) { return v + 2; }).value() == 6.0F);
  CHECK(x == Whole{4.0F});
  CHECK(x == 4);
  CHECK(x != 5.0F);
  CHECK(3.0F < x);
  CHECK(x > 3);
  CHECK(x <= 4);
  CHECK(x >= 4);
  CHECK_FALSE(x < 4);
}

TEST_CASE("a whole value is a number where plain functions take one, and nothing distributed is passed through an ellipsis") {
  const Whole x{4.0F};
  CHECK(std::log(x) == std::log(4.0F));
  CHECK(std::sqrt(x) == 2.0F);
  const float y = x;
  CHECK(y == 4.0F);
  static_assert(!std::is_trivially_copy_constructible_v<Whole> && !std::is_trivially_copy_constructible_v<Term>);
  static_assert(!std::is_convertible_v<Distributed<std::vector<float>>, std::vector<float>>);
}

TEST_CASE("parts are read as parts, and functions of single elements keep them") {
  const Part mine{9.0F};
  CHECK(mine.part() == 9.0F);
  static_assert(std::is_same_v<decltype(sqrt(mine)), Part>);
  CHECK(sqrt(mine).part() == 3.0F);
  CHECK((mine * mine).part() == 81.0F);
}

TEST_CASE("a sum over a sum of counts is a mean, and a function may ask for one") {
  using Summed = Distributed<float, Sum<axis::data, axis::shard>>;
  using Averaged = Distributed<float, Mean<axis::data, axis::shard>>;
  static_assert(std::is_same_v<decltype(Summed{6.0F} / Summed{3.0F}), Averaged>);
  static_assert(std::is_same_v<decltype(2 * Averaged{6.0F}), Averaged>);
  static_assert(std::is_same_v<decltype(log(Averaged{6.0F})), Whole>);
  CHECK(reads(Summed{6.0F} / Summed{3.0F}) == 2.0F);  // what it was taken over is forgotten
}
