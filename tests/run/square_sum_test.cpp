// SPDX-License-Identifier: MIT
#include "heddle/run/square_sum.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace heddle;

namespace {

std::vector<float> values(std::int64_t n) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>((37 * i + 11) % 101 - 50) / 7.0F);
  return v;
}
bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("slices sum to the bits of the whole, for every number of slices") {
  for (const std::int64_t elements : {1024, 5 * 1024}) {
    const std::vector<float> v = values(elements);
    const float whole = square_sum(v.data(), elements, 64);
    for (int slices = 1; slices <= 64; slices *= 2) {
      CAPTURE(slices);
      std::vector<float> sums;
      for (int s = 0; s < slices; ++s) sums.push_back(square_sum(v.data() + s * elements / slices, elements / slices, 64 / slices));
      for (std::size_t width = sums.size() / 2; width > 0; width /= 2)
        for (std::size_t p = 0; p < width; ++p) sums[p] = sums[2 * p] + sums[2 * p + 1];
      CHECK(same_bits(sums[0], whole));
    }
  }
}

TEST_CASE("small integers have an exact sum") {
  std::vector<float> v(2048, 3.0F);
  v[2047] = -4.0F;
  CHECK(square_sum(v.data(), 2048, 64) == 2047 * 9 + 16);
  CHECK(square_sum_of_part(v.data(), 16) == 16 * 9);
}
