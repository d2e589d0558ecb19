// SPDX-License-Identifier: MIT
// Room: plan. A guarded plan: a loss that is not finite on one rank is known to all before any of them steps.
// Sees: plan/check/clipping, plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S21 with the device and what is wrong.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/clipping.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// S21, for a Program that is guarded: the losses of all micro-batches are made when they are looked at, the flag is then reduced once over every
/// axis along which ranks have other rows and over stages, and over no other, and no rank steps before it knows whether all are to skip. Of
/// DataParallel<2> each list has a guard, a start and a wait along axis data, a skip, and then its steps.
///
/// Source  sources.md#grad-scaler
/// Tested  plan/check/guarding_test, fail/S21_guard_of_one_replica
[[nodiscard]] constexpr Diagnosis check_guarding(const Program& p) {
  constexpr FactWords words{" looks at its losses before a gradient is reduced over axis ",
                            " looks at its losses before its last compute or transfer",
                            " looks at its losses twice",
                            " reduces a flag of the loss that is not found, over axis ",
                            " steps before the flag of the loss is known",
                            " skips without a flag of the loss",
                            " decides twice whether to skip",
                            " skips by a flag of the loss that is not reduced over axis ",
                            " counts losses several times over axis ",
                            " never skips"};
  if (!p.guards || !p.training) return {};
  for (int r = 0; r < p.roles; ++r)
    if (const FactFault fault = FactWalk{p, words, ListOp::guard, ListOp::skip, place_of_guard(p), guard_is_term_along}.list(r); !fault.ok())
      return Diagnosis{Code{'S', 21}, ""} << "device " << r << fault.what << fault.axis
                                          << ". Fix: make all losses, look at them, reduce the flag over the axes that split the batch and over "
                                             "stages, then step or skip.";
  return {};
}

}  // namespace heddle::plan_room
