// SPDX-License-Identifier: MIT
// Room: plan. Plans that are data: lowered and checked while a program runs, by the code that the compiler runs for a Plan.
// Sees: plan/lower, plan/check.  Does not see: policies by name, processes, threads, kernels.
// In: a LoweringRequest.  Out: LoweredPlan, Diagnosis.
#pragma once

#include "heddle/plan/check/arenas.hpp"
#include "heddle/plan/check/budget.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/check/facts.hpp"
#include "heddle/plan/lower/lowered_plan.hpp"

namespace heddle::plan_room {

/// Both Programs of a plan whose parts are data.
///
/// A graph of 3 layers under a layout of 2 stages and 4 micro-batches: lower(request).training() has 2 lists, of 8 computes each.
/// Errors  what refuses the plan is in fault(): the answers of its parts, S14 if something is more than there is room for
/// Tested  plan/lowered_test
[[nodiscard]] inline LoweredPlan lower(const LoweringRequest& request) { return LoweredPlan{request}; }

/// All rules that a Plan passes, of one that is data: the answers of its parts, its Programs, its memory.
///
/// Errors  as a Plan; S07 is not asked, since a running program lowers plans of any length
/// Tested  plan/lowered_test
[[nodiscard]] inline Diagnosis check(const LoweredPlan& plan) {
  if (!plan.fault().ok()) return plan.fault();
  const LoweringRequest& in = plan.request();
  if (const Diagnosis found = check_noted(plan.training(), plan.evaluation(), made_from(in)); !found.ok()) return found;
  if (const Diagnosis found = check(plan.training()); !found.ok()) return found;
  if (const Diagnosis found = check(plan.evaluation()); !found.ok()) return found;
  if (!in.trains)
    if (const Diagnosis found = check_arenas(plan.applied(), 0, false); !found.ok()) return found;
  return check_memory(in.trains ? plan.training() : plan.applied(), in.budget, in.fitted);
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::check;
}  // namespace heddle

namespace heddle::extending {
using plan_room::BatchRequest, plan_room::LoweredPlan, plan_room::LoweringRequest, plan_room::divide_batch, plan_room::lower, plan_room::request_of;
}  // namespace heddle::extending
