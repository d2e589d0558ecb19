// SPDX-License-Identifier: MIT
#include "heddle/core/random.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

using namespace heddle;

// The three known answers of Philox4x32-10 that Random123 publishes (kat_vectors): counter, key, block.
static_assert(philox({{0, 0, 0, 0}}, 0) == PhiloxBlock{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffffffffffff) ==
              PhiloxBlock{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822) ==
              PhiloxBlock{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

// Seed 0, stream 0, uniform, block 0 is counter 0 under key 0: the layout of the counter is pinned to the known answer, for stored runs.
static_assert(uniform(Seed{0}, 0, 0) == (0x6627e8d5 >> 8) * 0x1p-24F);
static_assert(uniform(Seed{0}, 0, 3) == (0x9b00dbd8 >> 8) * 0x1p-24F);
static_assert(random_block(Seed{7}, 5, RandomDraw::bits, 3) == philox({{3, 0x80000000, 5, 0}}, 7));
static_assert(random_block(Seed{7}, 5, RandomDraw::normal, 3) == philox({{3, 0x40000000, 5, 0}}, 7));

TEST_CASE("philox gives the published known answers at run time as well") {
  volatile std::uint32_t word = 0x243f6a88;  // not a constant: the compiler cannot evaluate it beforehand
  const PhiloxBlock block = philox({{word, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822);
  CHECK(block == PhiloxBlock{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("uniform numbers lie in [0, 1) and have the mean and variance of the law") {
  constexpr int n = 1 << 16;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = uniform(Seed{3}, 1, i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
  }
  // Standard error of the mean sqrt(1/12/n); of the second central moment sqrt((1/80 - 1/144)/n). Five of them: wrong once in 1.7 million seeds.
  CHECK(std::abs(sum / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(squares / n - 1.0 / 12) < 5 * std::sqrt((1.0 / 80 - 1.0 / 144) / n));
}

TEST_CASE("uniform numbers fall evenly into bins") {
  constexpr int n = 1 << 16;
  constexpr int bins = 256;
  std::vector<int> filled(bins);
  for (int i = 0; i < n; ++i) ++filled[static_cast<std::size_t>(uniform(Seed{11}, 0, i) * bins)];
  double chi_square = 0;
  for (const int f : filled) chi_square += (f - n / bins) * (f - n / bins) / static_cast<double>(n / bins);
  // 255 degrees of freedom: mean 255, standard deviation sqrt(510) = 22.6; five deviations on either side.
  CHECK(std::abs(chi_square - 255) < 5 * std::sqrt(510.0));
}

TEST_CASE("uniform numbers of a range stay in it, low included and high excluded") {
  constexpr float bound = 0.0357142873F;  // 1 / sqrt(784)
  double sum = 0;
  constexpr int n = 1 << 14;
  for (int i = 0; i < n; ++i) {
    const float u = uniform(Seed{3}, 0, i, -bound, bound);
    REQUIRE(u >= -bound);
    REQUIRE(u < bound);
    sum += u;
  }
  CHECK(std::abs(sum / n) < 5 * bound / std::sqrt(3.0 * n));  // the standard deviation of the range is bound / sqrt(3)
  for (int i = 0; i < n; ++i) {                               // two neighbours among floats: half of the draws would round up to high
    const float u = uniform(Seed{3}, 0, i, 1.0F, 1.00000012F);
    REQUIRE(u == 1.0F);
  }
}

TEST_CASE("normal numbers are finite and have the moments of the law") {
  constexpr int n = 1 << 16;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double x = normal(Seed{5}, 2, i);
    REQUIRE(std::abs(x) <= 6.67);  // sqrt(2 ln 2^32) = 6.66
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Variances of x, x^2, x^4 are 1, 2, 96; five standard errors.
  CHECK(std::abs(sum / n) < 5 / std::sqrt(1.0 * n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96.0 / n));
}

TEST_CASE("a slice of a tensor has the bits of the whole, in whatever order it is filled") {
  constexpr int n = 1000;
  std::vector<float> whole_uniform;
  std::vector<float> whole_normal;
  for (int i = 0; i < n; ++i) {
    whole_uniform.push_back(uniform(Seed{9}, 4, i));
    whole_normal.push_back(normal(Seed{9}, 4, i));
  }
  for (int parts : {2, 3, 7}) {
    for (int part = parts - 1; part >= 0; --part) {
      for (int i = n * (part + 1) / parts - 1; i >= n * part / parts; --i) {
        REQUIRE(uniform(Seed{9}, 4, i) == whole_uniform[i]);
        REQUIRE(normal(Seed{9}, 4, i) == whole_normal[i]);
      }
    }
  }
}

TEST_CASE("seed, stream, index and kind of draw each change the numbers") {
  // 64-bit numbers that are equal by chance: 6 pairs of 2^-64.
  const std::set<std::uint64_t> different{bits64(Seed{1}, 1, 1), bits64(Seed{2}, 1, 1), bits64(Seed{1}, 2, 1), bits64(Seed{1}, 1, 2)};
  CHECK(different.size() == 4);
  CHECK(bits64(Seed{1ULL << 32}, 0, 0) != bits64(Seed{0}, 0, 0));
  CHECK(bits64(Seed{0}, 1ULL << 32, 0) != bits64(Seed{0}, 0, 0));
  CHECK(bits64(Seed{0}, 0, 1ULL << 32) != bits64(Seed{0}, 0, 0));
  CHECK_FALSE(random_block(Seed{1}, 1, RandomDraw::uniform, 1) == random_block(Seed{1}, 1, RandomDraw::normal, 1));
}

TEST_CASE("streams of one seed do not correlate") {
  constexpr int n = 1 << 14;
  double products = 0;
  for (int i = 0; i < n; ++i) products += (uniform(Seed{1}, 0, i) - 0.5) * (uniform(Seed{1}, 1, i) - 0.5);
  CHECK(std::abs(products / n) < 5 * (1.0 / 12) / std::sqrt(1.0 * n));  // the product of two independent has standard deviation 1/12
}
