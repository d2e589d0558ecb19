// SPDX-License-Identifier: MIT
#include "heddle/transport/movement.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace heddle;

TEST_CASE("movements have the names of the field") {
  CHECK(std::string{name_of(Movement::point_to_point)} == "transfer");
  CHECK(describe_collective(Movement::all_reduce, 0) == "all-reduce of group 0");
  CHECK(describe_collective(Movement::reduce_scatter, 1) == "reduce-scatter of group 1");
  CHECK(describe_collective(Movement::all_gather, 12) == "all-gather of group 12");
}

TEST_CASE("the longest name has room, and its number stands as sentences write the numbers of ranks") {
  const OperationName longest = describe_collective(Movement::reduce_scatter, std::numeric_limits<int>::max());
  CHECK(longest == "reduce-scatter of group 2147483647");
  CHECK_FALSE(longest.cut);
  const std::string words = longest;
  CHECK(words == longest.view());
}
