// SPDX-License-Identifier: MIT
#include "heddle/cost/efficiency.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a curve without points reaches the peak, one with a single point is the same everywhere") {
  static_assert(Efficiency{}.count() == 0 && Efficiency{}.share(1e9) == 1);
  constexpr Efficiency flat{{{0, 0.49}}};
  static_assert(flat.count() == 1 && flat.share(0) == 0.49 && flat.share(1e15) == 0.49);
  CHECK(flat.share(1) == 0.49);
}

TEST_CASE("between two points the share is straight over the logarithm, beyond them it stays") {
  constexpr Efficiency curve{{{1024, 0.25}, {4096, 0.75}, {16384, 0.5}}};
  static_assert(curve.count() == 3);
  static_assert(curve.share(1) == 0.25 && curve.share(1024) == 0.25 && curve.share(4096) == 0.75 && curve.share(1e12) == 0.5);
  CHECK(curve.share(2048) == 0.5);
  CHECK(curve.share(8192) == 0.625);
  for (double flops = 1024; flops < 4096; flops *= 1.1) CHECK(curve.share(flops * 1.05) > curve.share(flops));
}

TEST_CASE("the straight logarithm is exact at powers of two and never far from the real one") {
  static_assert(straight_log2(1) == 0 && straight_log2(1024) == 10 && straight_log2(6) == 2.5);
  CHECK(straight_log2(0) == 0);
  CHECK(straight_log2(-3) == 0);
  for (double x = 1; x < 1e6; x *= 1.3) CHECK(straight_log2(x * 1.1) > straight_log2(x));
}
