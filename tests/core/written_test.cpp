// SPDX-License-Identifier: MIT
#include "heddle/core/written.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using heddle::core_room::written;

TEST_CASE("words, characters and numbers of every type stand behind one another, as std::to_string writes them") {
  const std::string name = "linear1";
  CHECK(written({"rank ", 3, " of ", std::int64_t{16384}, ':', ' ', name, std::string_view{"!"}}) == "rank 3 of 16384: linear1!");
  CHECK(written({}).empty());
  CHECK(written({"", std::string_view{}, std::string{}}).empty());
  CHECK(written({0, ' ', -7, ' ', 7U, ' ', std::uint8_t{200}}) == "0 -7 7 200");
}

TEST_CASE("the largest and smallest numbers are written whole") {
  using Most = std::numeric_limits<std::int64_t>;
  CHECK(written({Most::max()}) == std::to_string(Most::max()));
  CHECK(written({Most::min()}) == std::to_string(Most::min()));
  CHECK(written({std::numeric_limits<std::uint64_t>::max()}) == std::to_string(std::numeric_limits<std::uint64_t>::max()));
  CHECK(written({std::numeric_limits<int>::min()}) == std::to_string(std::numeric_limits<int>::min()));
}
