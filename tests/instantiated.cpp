// SPDX-License-Identifier: MIT
// What tests share as compiled code, and one test that all of them have: each plan that a program checks is lowered once more while it runs.
#include "instantiated.hpp"

#include "equivalence/plan_as_data.hpp"
#include "plan/at_run_time.hpp"
#include "plan/lowered_again.hpp"

HEDDLE_SHARED_RANKS();

equivalence::PlanAsData::PlanAsData(const LoweringRequest& request, const BatchRequest& rows) : lowered_(request), rows_(rows) {
  REQUIRE(check(lowered_).sentence().view() == "");
}

heddle::extending::LoweredPlan heddle::tests::sound_plan(const LoweringRequest& request) {
  LoweredPlan plan = lower(request);
  REQUIRE(check(plan).sentence().view() == "");
  return plan;
}

TEST_CASE("every plan that this program checks is lowered and checked while it runs: the same Programs, or refused in the same words") {
  const heddle::tests::LoweredAgain all;
  CHECK(all.differences == "");
}
