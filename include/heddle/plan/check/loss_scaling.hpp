// SPDX-License-Identifier: MIT
// Room: plan. Loss scaling: an overflow that one rank sees is known to all that hold other gradients of the same model, before any of them steps.
// Sees: plan/check/clipping, plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S13 with the device and what is wrong.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/clipping.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// S13, for a Program that scales its loss: gradients are whole when they are unscaled and looked at, the flag is then reduced once over every axis
/// along which ranks hold different gradients and over no other, and no rank steps before it knows whether all are to skip.
///
/// Source  sources.md#grad-scaler
/// Tested  plan/check/loss_scaling_test, fail/S13_flag_of_one_stage
[[nodiscard]] constexpr Diagnosis check_loss_scaling(const Program& p) {
  constexpr FactWords words{" looks for an overflow before a gradient is reduced over axis ",
                            " looks for an overflow before its last compute or transfer",
                            " unscales gradients twice",
                            " reduces a flag that is not found, over axis ",
                            " steps before the flag of all ranks is known",
                            " skips without a flag",
                            " decides twice whether to skip",
                            " skips by a flag that is not reduced over axis ",
                            " counts overflows several times over axis ",
                            " never skips"};
  if (!p.scales_loss || !p.training) return {};
  for (int r = 0; r < p.roles; ++r)
    if (const FactFault fault = FactWalk{p, words, ListOp::unscale, ListOp::skip, place_of_overflow(p)}.list(r); !fault.ok())
      return Diagnosis{Code{'S', 13}, ""} << "device " << r << fault.what << fault.axis
                                          << ". Fix: reduce gradients, unscale them and look for Inf and NaN, reduce the flag over the axes along "
                                             "which ranks hold different gradients, then step or skip.";
  return {};
}

}  // namespace heddle::plan_room
