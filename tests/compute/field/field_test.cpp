// SPDX-License-Identifier: MIT
#include "heddle/compute/field/field.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "compute/field/field.hpp"

using namespace in_field;

TEST_CASE("the modulus is a prime, and the bits of every element are those of a finite float that is not negative") {
  for (std::uint64_t d = 2; d * d <= Field::modulus; ++d) REQUIRE(Field::modulus % d != 0);
  const float largest = Field::write(Field::modulus - 1);
  CHECK(std::isfinite(largest));
  CHECK(largest > 0);
  CHECK(Field::read(0.0F) == 0);
  for (std::uint64_t next = Field::modulus + 1; next < 0x7f800000ULL; ++next) {  // no larger prime has finite bits
    std::uint64_t d = 2;
    while (next % d != 0) ++d;
    CHECK(d < next);
  }
}

TEST_CASE("sums, products and inverses are those of a field") {
  const std::uint64_t p = Field::modulus;
  CHECK(Field::plus(p - 1, 5) == 4);
  CHECK(Field::times(p - 1, p - 1) == 1);
  for (const std::uint64_t a : {1ULL, 2ULL, 77ULL, 2139095016ULL}) CHECK(Field::times(a, Field::inverse(a)) == 1);
  FieldSum sum{3};
  std::uint64_t wanted = 3;
  for (std::uint64_t i = 0; i < 100; ++i) {
    sum.add(p - 1 - i, p - 2 * i - 1);
    wanted = Field::plus(wanted, Field::times(p - 1 - i, p - 2 * i - 1));
  }
  CHECK(Field::read(sum.element()) == wanted);
}

TEST_CASE("a float stands for its exact value: a scale and its inverse undo each other") {
  CHECK(Field::image(1) == 1);
  CHECK(Field::image(0) == 0);
  CHECK(Field::image(-3) == Field::modulus - 3);
  CHECK(Field::image(0.5F) == 1069547509);
  CHECK(Field::times(Field::image(65536), Field::image(1.0F / 65536)) == 1);
  CHECK(Field::plus(Field::image(1.25F), Field::image(2.75F)) == 4);
  CHECK(Field::times(Field::image(16777215), Field::image(0x1p-126F)) == Field::image(16777215 * 0x1p-126F));
}

TEST_CASE("a hash depends on draw, step, symbol, every element, every constant and their order") {
  std::set<std::uint64_t> all;
  const auto add = [&] {
    all.insert(Field::hash(1, {5, 6}));
    all.insert(Field::hash(2, {5, 6}));
    all.insert(Field::hash(1, {6, 5}));
    all.insert(Field::hash(1, {5, 7}));
    all.insert(Field::hash(1, {5, 6}, {1}));
    all.insert(Field::hash(1, {5, 6}, {2}));
  };
  {
    const Drawn first{7};
    add();
    CHECK(Field::hash(1, {5, 6}, {2}) == Field::hash_again(1, {5, 6}, {2}));
    CHECK(symbol_of<Field>("a") != symbol_of<Field>("b"));
    CHECK(symbol_of<Field>("a") != symbol_of<FieldSum>("a"));
    field_draw.step = 1;
    add();
  }
  const Drawn second{8};
  add();
  CHECK(all.size() == 18);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(Field::hash_to_unit(3, i) != 0);
  const std::vector<float> values = elements(9);
  CHECK(Field::digest(values.data(), 9) != Field::digest(values.data(), 8));
}

TEST_CASE("in a degree run a sum has the larger degree, a product the sum, a function degree 1, and the census keeps the highest of its arguments") {
  const Drawn degrees{1, FieldMode::degrees};
  CHECK(Field::plus(2, 5) == 5);
  CHECK(Field::times(2, 5) == 7);
  CHECK(Field::hash(9, {2, 5}) == 1);
  CHECK(Field::hash(9, {3, 1}) == 1);
  CHECK(Field::image(12.5F) == 0);
  FieldSum sum{1};
  sum.add(1, 3);
  sum.add(2, 1);
  CHECK(Field::read(sum.element()) == 4);
  const std::vector<FieldCall> calls = field_census.take();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].first == 3);
  CHECK(calls[0].highest == 5);
}

TEST_CASE("in a degree run 64 quotients have one denominator of all of theirs, added by hand, as sums of products, or by ranks") {
  const Drawn degrees{1, FieldMode::degrees};
  std::uint64_t by_hand = 0;
  FieldSum products;
  float of_ranks = 0;
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t quotient = Field::inverse(Field::times(1, 1));
    by_hand = Field::plus(by_hand, quotient);
    products.add(quotient, Field::image(1));
    const float own = Field::write(quotient);
    FieldCompute::add(&of_ranks, &of_ranks, &own, 1);
  }
  for (const std::uint64_t sum : {by_hand, Field::read(products.element()), Field::read(of_ranks)}) {
    CHECK(Degrees::read(sum).of_difference() >= 254);  // of numerators of degree 126 and denominators of 128
    CHECK(Degrees::read(sum).of_difference() <= 256);
  }
  const std::vector<float> row{Field::write(2), Field::write(by_hand), Field::write(1)};
  CHECK(Degrees::read(Field::digest(row.data(), 3)).of_difference() <= 256);
}

TEST_CASE("a degree run counts in how many ways an inverse meets a 0; one of what is never 0 meets none") {
  const Drawn degrees{1, FieldMode::degrees};
  for (int i = 0; i < 10; ++i) (void)Field::inverse(3);
  (void)Field::inverse(Field::image(7));
  (void)Field::inverse_of_unit(1);
  const std::vector<FieldCall> calls = field_census.take();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].symbol == FieldCensus::inverses);
  CHECK(calls[0].first == 30);
}

TEST_CASE("the arithmetic of a step: squares add up part by part, clipping always multiplies, scaling by powers of two is undone") {
  const Drawn drawn{3};
  std::vector<float> v = elements(64);
  const float whole = FieldArithmetic::square_sum(v.data(), 64);
  CHECK(same({whole}, {FieldArithmetic::plus(FieldArithmetic::square_sum(v.data(), 16), FieldArithmetic::square_sum(v.data() + 16, 48))}));
  const float sums[] = {v[0], v[1], v[2]};
  const float norm = FieldArithmetic::norm(sums, 3);
  CHECK(same({norm}, {FieldArithmetic::plus(v[0], FieldArithmetic::plus(v[1], v[2]))}));
  const float factor = FieldArithmetic::clip_factor(norm, 1);
  CHECK_FALSE(same({factor}, {FieldArithmetic::clip_factor(norm, 2)}));
  CHECK_FALSE(same({factor}, {FieldArithmetic::clip_factor(v[0], 1)}));
  std::vector<float> clipped = v;
  FieldArithmetic::clip(clipped.data(), 64, factor);
  CHECK(Field::read(clipped[5]) == Field::times(Field::read(v[5]), Field::read(factor)));
  std::vector<float> scaled = v;
  CHECK(FieldArithmetic::multiply(scaled.data(), 64, 1024));
  CHECK_FALSE(same(scaled, v));
  CHECK(FieldArithmetic::multiply(scaled.data(), 64, 1.0F / 1024));
  CHECK(same(scaled, v));
  FieldCompute::add(scaled.data(), v.data(), v.data(), 64);
  CHECK(Field::read(scaled[9]) == Field::times(2, Field::read(v[9])));
}
