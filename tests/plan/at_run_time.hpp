// SPDX-License-Identifier: MIT
// Room: tests. Plans that a test names as types, and that are lowered and checked while it runs.
// Sees: plan.  Does not see: processes, kernels.
#pragma once

#include "heddle/plan/lowered.hpp"

namespace heddle::tests {

/// Both Programs of what a plan asks, or the test ends: in instantiated.cpp, so that lowering and checks are compiled once for all tests.
[[nodiscard]] LoweredPlan sound_plan(const LoweringRequest& request);
/// A plan that is lowered while the test runs, once. It costs the compiler a tenth of one whose constants it makes, so it is for plans of which a
/// test asks nothing at build.
template <class ThePlan> [[nodiscard]] const LoweredPlan& at_run_time() {
  static const LoweredPlan plan = sound_plan(request_of<plan_room::RequestOf<ThePlan>>());
  return plan;
}
template <class ThePlan> [[nodiscard]] const Program& training_of() { return at_run_time<ThePlan>().training(); }
template <class ThePlan> [[nodiscard]] const Program& evaluation_of() { return at_run_time<ThePlan>().evaluation(); }

}  // namespace heddle::tests
