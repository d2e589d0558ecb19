// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/divisor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

using namespace heddle;
using compute_room::Divisor;

static_assert(Divisor{}.quotient_of(30) == 30);
static_assert(Divisor{7}.quotient_of(30) == 4);
static_assert(Divisor{7}.rest_of(30) == 2);

namespace {
/// Says what is off, and how often.
struct Checked {
  int wrong = 0;
  void operator()(std::int64_t d, std::int64_t n) {
    if (n < 0) return;
    const Divisor by{d};
    if (by.quotient_of(n) == n / d && by.rest_of(n) == n % d) return;
    if (++wrong == 1) MESSAGE(n << " by " << d << " is " << by.quotient_of(n) << " and the rest " << by.rest_of(n));
  }
};
}  // namespace

TEST_CASE("quotients and rests are those of the language, up to the largest numbers and beside every multiple") {
  constexpr std::int64_t largest = INT64_MAX, largest_divisor = std::int64_t{1} << 62U;
  Checked check;
  std::mt19937_64 generator(1);
  for (std::int64_t d = 1; d <= 300; ++d) {
    for (std::int64_t n = 0; n <= 1000; ++n) check(d, n);
    for (const std::int64_t n : {largest, largest - 1, largest / d * d, largest / d * d - 1}) check(d, n);
  }
  for (int bits = 1; bits <= 62; ++bits)
    for (const std::int64_t by : {-1, 0, 1}) {
      const std::int64_t d = std::min((std::int64_t{1} << bits) + by, largest_divisor);
      for (const std::int64_t n : {std::int64_t{0}, d - 1, d, d + 1, largest, largest - 1, largest / d * d, largest / d * d - 1}) check(d, n);
    }
  for (int trial = 0; trial < 20000; ++trial) {
    const std::int64_t d = std::min(static_cast<std::int64_t>(generator() >> (2 + generator() % 61)) + 1, largest_divisor);
    const auto n = static_cast<std::int64_t>(generator() >> (1 + generator() % 62));
    for (const std::int64_t beside : {n, n / d * d, n / d * d - 1}) check(d, beside);
  }
  CHECK(check.wrong == 0);
}
