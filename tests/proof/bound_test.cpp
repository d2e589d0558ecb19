// SPDX-License-Identifier: MIT
#include "heddle/proof/bound.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

double ways(const FieldCounts& counts) { return bound_of_a_draw(counts) * static_cast<double>(Field::modulus - 1); }

/// `calls` calls of one function with different arguments of degree 2.
FieldCounts calls_of_one(std::size_t calls) {
  FieldCounts counts;
  for (std::size_t i = 0; i < calls; ++i) counts.calls.push_back({7, i, 0});
  counts.degrees.push_back({7, 2, 2});
  return counts;
}

}  // namespace

TEST_CASE("pairs of calls of one function count with the degree of their arguments: the number in the words of the header") {
  CHECK(ways(calls_of_one(1000)) == doctest::Approx(1'001'000));
  CHECK(std::log2(bound_of_a_draw(calls_of_one(1000))) == doctest::Approx(-11).epsilon(0.01));
}

TEST_CASE("where the census of a function is full there is no bound, whatever it is called with") {
  CHECK(bound_of_a_draw(calls_of_one(FieldCensus::most_calls)) == 1);
  FieldCounts constants = calls_of_one(FieldCensus::most_calls);
  constants.degrees = {{7, 0, 0}};
  CHECK(bound_of_a_draw(constants) == 1);
  CHECK(bound_of_a_draw(calls_of_one(FieldCensus::most_calls / 4)) < Draws::useful);
}

TEST_CASE("calls of different functions do not meet; what is compared counts once") {
  FieldCounts counts = calls_of_one(10);
  for (std::uint64_t i = 0; i < 10; ++i) counts.calls.push_back({8, i, 0});
  counts.degrees.push_back({8, 1, 3});
  counts.compared = 5;
  CHECK(ways(counts) == doctest::Approx(2 * 55 + 1 * 55 + 5));
}

TEST_CASE("pairs with one first argument count with the highest degree of the others, whoever has measured it") {
  FieldCounts counts;
  for (const std::uint64_t first : {4U, 4U, 4U, 9U}) counts.calls.push_back({1, first, 0});
  counts.degrees = {{1, 1, 6}, {1, 1, 10}};  // of one device, of the plan
  CHECK(ways(counts) == doctest::Approx((10 - 3) * 1 + 3 * 10));
}

TEST_CASE("what is inverted adds its degrees, on one device and under the plan; quotients count with numerator and denominator") {
  FieldCounts counts;
  counts.degrees = {{FieldCensus::inverses, 30, 0}, {FieldCensus::inverses, 12, 0}};
  CHECK(ways(counts) == doctest::Approx(42));
  counts.compared = Degrees{3, 4}.number();
  CHECK(ways(counts) == doctest::Approx(49));
  counts.calls.push_back({1, 9, 0});
  counts.degrees.push_back({1, Degrees{1, 0}.number(), Degrees{1, 0}.number()});
  counts.degrees.push_back({1, Degrees{0, 5}.number(), Degrees{0, 5}.number()});
  CHECK(ways(counts) == doctest::Approx(49 + 1 * 6));
  counts.compared = Degrees{0, Degrees::unknown}.number();
  CHECK(bound_of_a_draw(counts) >= 1);
}

TEST_CASE("draws are added until the bound is below 2^-40, at least five; above three quarters there is none") {
  CHECK(draws_for(1.0 / 64).count == 7);
  CHECK(draws_for(1.0 / 64).log2_of_bound == doctest::Approx(-42));
  CHECK(draws_for(1.0 / 1024).count == 5);
  CHECK(draws_for(1e-9).count == 5);
  CHECK(draws_for(0.5).count == 41);
  CHECK(draws_for(0.8).count == 5);
  CHECK(draws_for(0.8).log2_of_bound == 0);
  CHECK(draws_for(1.0 / 64, 0).count == 1);
  CHECK(draws_for(1.0 / 64, -3).count == 1);
  CHECK(draws_for(1.0 / 64, 2).count == 2);
  CHECK(draws_for(1.0 / 64, 2).log2_of_bound == doctest::Approx(-12));
  CHECK(draws_for(0.45).log2_of_bound < -35);
}

TEST_CASE("labels of two classes are confused in half of the draws, of ten in a tenth; where there are none the bound stays") {
  CHECK(with_choices(0, 2) == doctest::Approx(0.5));
  CHECK(with_choices(1.0 / 64, 10) == doctest::Approx(0.1 + 1.0 / 64));
  CHECK(with_choices(1.0 / 64, 1) == doctest::Approx(1.0 / 64));
  CHECK(draws_for(with_choices(0, 10)).count == 13);
}
