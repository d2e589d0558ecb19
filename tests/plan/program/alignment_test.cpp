// SPDX-License-Identifier: MIT
#include "heddle/plan/program/alignment.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("A size is rounded up to the next multiple, and a multiple stays") {
  static_assert(rounded_up(0, line_bytes) == 0);
  static_assert(rounded_up(1, line_bytes) == 64);
  static_assert(rounded_up(64, line_bytes) == 64);
  static_assert(rounded_up(65, line_bytes) == 128);
  CHECK(rounded_up(4097, unit_bytes) == 2 * unit_bytes);
}

TEST_CASE("A grain of a value takes whole lines, by the bytes of its elements") {
  static_assert(grain_bytes(3, 5, ElementType::float32) == 64 && grain_bytes(3, 6, ElementType::int32) == 128);
  CHECK(grain_bytes(0, 5, ElementType::float32) == 0);
}

TEST_CASE("A unit is cut into 2, 4, ... 64 slices that begin at lines") {
  for (std::int64_t parts = 1; parts <= 64; parts *= 2) CHECK(unit_bytes / parts % line_bytes == 0);
}

TEST_CASE("a grain of bytes takes the lines that bytes fill") {
  static_assert(grain_bytes(2, 15, ElementType::uint8) == 64);  // 30 bytes
  static_assert(grain_bytes(2, 15, ElementType::float32) == 128);
  static_assert(grain_bytes(5, 13, ElementType::uint8) == 128);  // 65 bytes
  CHECK(grain_bytes(0, 15, ElementType::uint8) == 0);
}
