// SPDX-License-Identifier: MIT
#include "heddle/policy/split_cost.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("what is moved counts in units of (N-1)/N: a sum in place twice what a gather or a scatter is, a cut nothing") {
  static_assert(moved_between(laid::partial, laid::replicate, 10) == 20);
  static_assert(moved_between(laid::partial, laid::shard(0), 10) == 10);
  static_assert(moved_between(laid::shard(1), laid::replicate, 10) == 10);
  static_assert(moved_between(laid::replicate, laid::shard(1), 10) == 0);
  CHECK(moved_between(laid::shard(1), laid::shard(1), 10) == 0);
  CHECK(moved_between(laid::partial, laid::partial, 10) == 0);
}

TEST_CASE("work counts before what moves") {
  CHECK(SplitCost{1, 100}.less(SplitCost{2, 0}));
  CHECK(SplitCost{1, 1}.less(SplitCost{1, 2}));
  CHECK(SplitCost{1, 1, 1}.less(SplitCost{1, 1, 2}));
  CHECK_FALSE(SplitCost{1, 1}.less(SplitCost{1, 1}));
  CHECK_FALSE(SplitCost{1, 2, 3}.plus(SplitCost{1, 1, 1}).less(SplitCost{2, 3, 4}));
}
