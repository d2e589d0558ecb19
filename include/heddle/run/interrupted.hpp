// SPDX-License-Identifier: MIT
// Room: run. What a call that was interrupted between ranks leaves behind, in one sentence.
// Sees: seams/error.  Does not see: plans, threads, any backend.
// In: how it was interrupted.  Out: R04.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

enum class Interrupted : std::uint8_t { never, in_a_step, by_a_lost_rank, while_set };

/// R04: `call` as "step 7". A rank was lost, or a call was cut short, and the parameters are those of no step.
///
/// Tested  run/interrupted_test, run/trainer_test
[[noreturn]] HEDDLE_COLD inline void refuse_after(Interrupted how, const std::string& call) {
  const std::string begun = call + " was interrupted ";
  const std::string remedy = ". Fix: make a new trainer and load the parameters of the last good step.";
  if (how == Interrupted::while_set)
    throw Error(Code{'R', 4}, "a call that sets parameters was interrupted after it had set some of them, so they are of two origins" + remedy);
  throw Error(Code{'R', 4},
              written({begun,
                       (how == Interrupted::in_a_step ? "after some ranks had changed their parameters, so they no longer agree"
                                                      : "when a rank was lost, and the processes cannot know what the others have changed since"),
                       remedy}));
}

}  // namespace heddle::run_room
