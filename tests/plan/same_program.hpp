// SPDX-License-Identifier: MIT
// Room: tests. A plan that the compiler lowered is lowered once more while the test runs: both are the same.
// Sees: graph, plan.  Does not see: processes, kernels.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "heddle/plan/lowered.hpp"
#include "plan/difference.hpp"

namespace heddle::tests {

/// The plan is lowered once more, from its parts as data: what comes out is what the compiler made.
template <class ThePlan> void lowers_alike() {
  const LoweredPlan again{request_of<typename ThePlan::Request>()};
  INFO(again.fault().sentence().view());
  REQUIRE(again.fault().ok());
  CHECK(Difference(ThePlan::training, again.training()).words() == "");
  CHECK(Difference(ThePlan::evaluation, again.evaluation()).words() == "");
  CHECK(std::string{check(again).sentence().view()} == "");
}

}  // namespace heddle::tests
