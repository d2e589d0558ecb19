// SPDX-License-Identifier: MIT
#include "heddle/proof/left_out.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

TEST_CASE("every fourth target of a draw is one that the loss leaves out, if it leaves any out") {
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK(or_left_out([](std::int32_t target) { return !CrossEntropyWith<Ignored<-7>>::counts(target); }, i, 3) == (i % 4 == 3 ? -7 : 3));
    CHECK(or_left_out([](std::int32_t) { return false; }, i, 3) == 3);
  }
}
