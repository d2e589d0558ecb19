// SPDX-License-Identifier: MIT
#include "heddle/plan/program/collective.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::plan_room;

TEST_CASE("two replicas sum the gradient of Linear<16, 16>, of 272 elements in 1,024") {
  using P = Plan<Linear<16, 16>, MeanSquaredError, SGD, Batch<8>, DataParallel<2>>;
  constexpr Collective c = P::training.collectives[0];
  static_assert(c.kind == CollectiveKind::all_reduce && c.purpose == Purpose::gradient && c.axis == axis::data);
  static_assert(c.elements == 1'024 && c.payload == 272 && c.slices == 1 && c.source == c.target);
  CHECK(P::training.collective_count == 2);  // and the loss
  CHECK(P::training.collectives[1].purpose == Purpose::loss);
  CHECK(P::evaluation.collective_count == 1);
}

TEST_CASE("an all-reduce is two passes round a ring, each half of it one; a gather sums nothing") {
  Collective c;
  CHECK((c.halves() == 2 && c.sums()));
  c.kind = CollectiveKind::reduce_scatter;
  CHECK((c.halves() == 1 && c.sums()));
  c.kind = CollectiveKind::all_gather;
  CHECK((c.halves() == 1 && !c.sums()));
}

TEST_CASE("collectives are equal if all of their numbers are") {
  const Collective c;
  Collective other = c;
  CHECK(other == c);
  other.arrived.stride = 16;
  CHECK(!(other == c));
}
