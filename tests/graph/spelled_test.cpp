// SPDX-License-Identifier: MIT
#include "heddle/graph/spelled.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a leaf is spelled as it is written in a model") {
  static_assert(spelled("Linear", 784, 50).view() == "Linear<784, 50>");
  static_assert(spelled("Linear", std::int64_t{784}, 50, "NoBias").view() == "Linear<784, 50, NoBias>");
  CHECK(spelled("Unflatten", 8).view() == "Unflatten<8>");
}

TEST_CASE("digits stand without groups, since a comma would be one more size") {
  static_assert(spelled("Linear", 50257, 1).view() == "Linear<50257, 1>");
  CHECK(spelled("Linear", 0, -7).view() == "Linear<0, -7>");
  CHECK(spelled("Linear", 1000, std::int64_t{1} << 40).view() == "Linear<1000, 1099511627776>");
}
