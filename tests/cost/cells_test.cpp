// SPDX-License-Identifier: MIT
#include "heddle/cost/cells.hpp"

#include <doctest/doctest.h>

#include <utility>

using namespace heddle;

TEST_CASE("cells begin with one value, are moved with what they hold, and live in constants") {
  static_assert([] {
    Cells<double> four{4, -1};
    four[2] = 7;
    Cells<double> taken{std::move(four)};
    Cells<double> given;
    given = std::move(taken);
    return given.count() == 4 && given[2] == 7 && given[3] == -1;
  }());
  Cells<int> none{0};
  CHECK(none.count() == 0);
}
