// SPDX-License-Identifier: MIT
#include "heddle/cost/devices.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Repeat<4, Linear<16, 16>> {};
using P = Plan<Deep, MeanSquaredError, SGD, Batch<16>, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;

}  // namespace

TEST_CASE("by role one device stands for all that do the same") {
  const Devices roles{P::training, false};
  CHECK(roles.count() == 2);
  CHECK(roles.copies() == 4);
  CHECK(roles.pipelines() == 1);
  CHECK(roles.role(1) == 1);
  CHECK(roles.peer(0, 1) == 1);
  CHECK(roles.members(axis::data) == 1);
  CHECK(roles.member(1, axis::data, 0) == 1);
  CHECK(roles.members(axis::stage) == 2);
  CHECK(roles.member(0, axis::stage, 1) == 1);
}

TEST_CASE("by rank the mesh says who is where") {
  const Devices ranks{P::training, true};  // tensor, stage, data: ranks 0 1 | 2 3 are the stages of the first replica
  CHECK(ranks.count() == 8);
  CHECK(ranks.copies() == 1);
  CHECK(ranks.pipelines() == 4);
  CHECK(ranks.role(1) == 0);
  CHECK(ranks.role(3) == 1);
  CHECK(ranks.peer(1, 1) == 3);
  CHECK(ranks.pipeline(1) == ranks.pipeline(3));
  CHECK(ranks.pipeline(0) != ranks.pipeline(1));
  CHECK(ranks.members(axis::data) == 2);
  CHECK(ranks.member(3, axis::data, 1) == 7);
  CHECK(ranks.member(7, axis::data, 0) == 3);
}
