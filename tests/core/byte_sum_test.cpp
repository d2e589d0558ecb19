// SPDX-License-Identifier: MIT
#include "heddle/core/byte_sum.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

using heddle::core_room::byte_sum;
using heddle::core_room::sixteen_digits;

TEST_CASE("the sum is FNV-1a, of letters as of bytes") {
  CHECK(byte_sum("") == 0xcbf29ce484222325U);
  CHECK(byte_sum("a") == 0xaf63dc4c8601ec8cU);
  CHECK(byte_sum("foobar") == 0x85944171f73967e8U);
  const std::array<std::byte, 1> one{std::byte{'a'}};
  CHECK(byte_sum(one) == byte_sum("a"));
}

TEST_CASE("a number has sixteen digits") {
  CHECK(sixteen_digits(0) == "0000000000000000");
  CHECK(sixteen_digits(42) == "000000000000002a");
  CHECK(sixteen_digits(std::numeric_limits<std::uint64_t>::max()) == "ffffffffffffffff");
}
