// SPDX-License-Identifier: MIT
#include "heddle/core/bfloat16.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace heddle;
using core_room::rounded, core_room::widened;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
static_assert(widened(rounded(1.0F)) == 1.0F);
static_assert(widened(rounded(1.0F + 0x1p-8F)) == 1.0F);               // a tie, to the even one below
static_assert(widened(rounded(1.0F + 0x3p-8F)) == 1.0F + 0x1p-6F);     // a tie, to the even one above
static_assert(widened(rounded(1.0F + 0x1.01p-8F)) == 1.0F + 0x1p-7F);  // above a tie
static_assert(rounded(-0.0F).bits == 0x8000);
static_assert(widened(rounded(std::numeric_limits<float>::max())) == infinity);
static_assert(widened(rounded(-infinity)) == -infinity);
}  // namespace

TEST_CASE("every bfloat16 is a float that is rounded to itself, and NaN stays NaN") {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const BFloat16 number{static_cast<std::uint16_t>(bits)};
    const float wide = widened(number);
    if (std::isnan(wide))
      CHECK(std::isnan(widened(rounded(wide))));
    else
      CHECK(rounded(wide) == number);
  }
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  const float only_in_lower_bits = std::bit_cast<float>(0x7f800001U);
  CHECK(std::isnan(widened(rounded(quiet))));
  CHECK(std::isnan(widened(rounded(only_in_lower_bits))));
}

TEST_CASE("a float is rounded to the nearer of its two neighbours, and from the middle to the even one") {
  for (std::uint32_t drawn = 1; drawn < 0x7f7f0000U; drawn += 0x3ff1U) {
    const float number = std::bit_cast<float>(drawn);
    const double below = widened({static_cast<std::uint16_t>(drawn >> 16U)});
    const double above = widened({static_cast<std::uint16_t>((drawn >> 16U) + 1U)});
    const double middle = (below + above) / 2;
    const bool even_below = (drawn >> 16U & 1U) == 0;
    const double nearer = number < middle || (number == middle && even_below) ? below : above;
    CHECK(static_cast<double>(widened(rounded(number))) == nearer);
    CHECK(widened(rounded(-number)) == -widened(rounded(number)));
  }
}
