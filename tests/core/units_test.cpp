// SPDX-License-Identifier: MIT
#include "heddle/core/units.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <type_traits>

using namespace heddle;

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};

// Quantities do not mix by accident, and a plain number is no quantity.
static_assert(Adds<Bytes, Bytes>);
static_assert(!Adds<Bytes, Flops>);
static_assert(!Adds<Bytes, int>);
static_assert(!std::is_convertible_v<int, Bytes>);
static_assert(!std::is_convertible_v<Bytes, int>);
static_assert(1_KiB == 1024_B);
static_assert(1_MiB == 1024 * 1_KiB);
static_assert(1_GiB == 1024 * 1_MiB);
static_assert(1_MB == 1000 * 1_KB);
static_assert(80_GB == Bytes{80'000'000'000});
static_assert(1_GB < 1_GiB);

TEST_CASE("bytes add, scale and compare as their numbers do") {
  Bytes total = 3_B + 4_B;
  total += 5_B;
  CHECK(total == 12_B);
  CHECK(total - 2_B == 10_B);
  CHECK(2 * total == total * 2);
  CHECK(2 * 3 * Bytes{4 * 39'760} / 4 == Bytes{238'560});  // the ring volume of the example in the design
  CHECK((Bytes{} < 1_B));
  CHECK(Bytes{7} / 2 == 3_B);
}

TEST_CASE("flops, seconds and ranks compare") {
  CHECK(Flops{2} + 3 * Flops{4} == Flops{14});
  CHECK(Seconds{0.5} < Seconds{0.75});
  CHECK(Rank{1} < Rank{2});
  CHECK(Rank{1} == Rank{1});
  CHECK(Seed{}.value == 0);
  const int number = 7;  // of any integer type, where Seed is written
  CHECK(Seed{number}.value == 7);
  static_assert(!std::is_constructible_v<Seed, Bytes>);
}

TEST_CASE("bytes are printed with their unit") {
  std::ostringstream out;
  out << Bytes{159'040} << ", " << 2_KiB;
  CHECK(out.str() == "159040 bytes, 2048 bytes");
}
