// SPDX-License-Identifier: MIT
#include "heddle/run/square_sum.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace heddle;

namespace {

std::vector<float> values(std::int64_t n) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>((37 * i + 11) % 101 - 50) / 7.0F);
  return v;
}
bool equal_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("slices sum to the bits of the whole, for every number of slices") {
  for (const std::int64_t elements : {1024, 5 * 1024, 200 * 1024}) {
    const std::vector<float> v = values(elements);
    const float whole = square_sum(v.data(), elements, 64);
    for (int slices = 1; slices <= 64; slices *= 2) {
      CAPTURE(slices);
      std::vector<float> sums;
      for (int s = 0; s < slices; ++s) sums.push_back(square_sum(v.data() + s * elements / slices, elements / slices, 64 / slices));
      for (std::size_t width = sums.size() / 2; width > 0; width /= 2)
        for (std::size_t p = 0; p < width; ++p) sums[p] = sums[2 * p] + sums[2 * p + 1];
      CHECK(equal_bits(sums[0], whole));
    }
  }
}

TEST_CASE("small integers have an exact sum") {
  std::vector<float> v(2048, 3.0F);
  v[2047] = -4.0F;
  CHECK(square_sum(v.data(), 2048, 64) == 2047 * 9 + 16);
  CHECK(square_sum_of_part(v.data(), 16) == 16 * 9);
}

TEST_CASE("a sum of very many squares rounds like one of a few") {
  constexpr std::int64_t elements = std::int64_t{1} << 25;
  const std::vector<float> v(static_cast<std::size_t>(elements), 0.1F);
  const double exact = static_cast<double>(elements) * static_cast<double>(0.1F) * static_cast<double>(0.1F);
  // One rounding of 2^-24 for the square, 64 for a run of lines in a lane, one for each halving of 2^21 lines down to 64 of them, 4 for the lanes.
  constexpr double roundings = 1 + 64 + 15 + 4;
  CHECK(std::abs(static_cast<double>(square_sum_of_part(v.data(), elements)) - exact) <= roundings / (1 << 24) * exact);
  CHECK(std::abs(static_cast<double>(square_sum(v.data(), elements, 64)) - exact) <= (roundings + 6) / (1 << 24) * exact);
}

TEST_CASE("each part is handed over once, in order, before its squares are taken") {
  std::vector<float> v = values(1024);
  const std::vector<float> before = v;
  const float* next = v.data();
  const float doubled = square_sum(v.data(), 1024, 64, [&](float* part, std::int64_t elements) {
    CHECK(part == next);
    next = part + elements;
    CHECK(multiply_finite(part, elements, 2));
  });
  CHECK(next == v.data() + 1024);
  CHECK(equal_bits(doubled, 4 * square_sum(before.data(), 1024, 64)));
}

TEST_CASE("a single value that is not finite is seen, wherever it lies") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (std::size_t at = 0; at < 37; ++at) {
      std::vector<float> v = values(37);
      CHECK(multiply_finite(v.data(), 37, 0.5F));
      v[at] = bad;
      CHECK_FALSE(multiply_finite(v.data(), 37, 0.5F));
    }
  float largest[] = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::denorm_min()};
  CHECK(multiply_finite(largest, 2, 1));
  CHECK_FALSE(multiply_finite(largest, 2, 2));
}
