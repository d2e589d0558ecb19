// SPDX-License-Identifier: MIT
// Room: plan. Advice as an error: the first remark on a plan refuses it, where its user asks for that.
// Sees: plan/advice, core/fire.  Does not see: machines, processes, threads.
// In: a Plan, limits.  Out: require_no_advice<Plan>().
#pragma once

#include "heddle/core/fire.hpp"
#include "heddle/plan/advice.hpp"

namespace heddle::plan_room {

/// Holds the first remark on a plan, as a fault: A01 for 2 rows a micro-batch where 4 are worth one.
template <class ThePlan, AdviceLimits... Limits> struct Advised {
  // The refusal of a broken plan, word for word: it is the same rule<...> as that of the plan, so it stays one error.
  static constexpr Diagnosis find() {
    if constexpr (Verdict<ThePlan>::found.ok())
      return advice<ThePlan>(Limits...).remarks[0];
    else
      return Verdict<ThePlan>::found;
  }
  static constexpr Diagnosis found = find();
};

/// static_assert(require_no_advice<MyPlan>()); a limit of one's own: require_no_advice<MyPlan, AdviceLimits{.bubble_percent = 80}>().
///
/// Errors  the first remark of advice<MyPlan>(), A01 to A11, at build
/// Tested  plan/no_advice_test, fail/A03_stages_out_of_balance
template <class ThePlan, AdviceLimits... Limits> struct require_no_advice {  // a pack: nvcc 13 cannot spell the default of one
  static_assert(sizeof(fired<Advised<ThePlan, Limits...>>) > 0);
  constexpr explicit operator bool() const { return true; }
};

}  // namespace heddle::plan_room

namespace heddle::extending {
using plan_room::require_no_advice;
}  // namespace heddle::extending
