// SPDX-License-Identifier: MIT
#include "heddle/core/grouped_digits.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("digits stand in groups of three, and a number beyond what is counted says so") {
  CHECK(grouped_digits(47'040'016) == "47,040,016");
  CHECK(grouped_digits(-1) == "-1");
  CHECK(grouped_digits(std::uint64_t{9'223'372'036'854'775'807}) == "9,223,372,036,854,775,807");
  CHECK(grouped_digits(~std::uint64_t{0}) == "more than 9,223,372,036,854,775,807");
  CHECK(grouped_digits(0) == "0");
  CHECK(grouped_digits(9'999) == "9999");
  CHECK(grouped_digits(std::int64_t{-10'000}) == "-10,000");
}
