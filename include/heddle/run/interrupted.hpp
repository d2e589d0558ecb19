// SPDX-License-Identifier: MIT
// Room: run. What a call that was interrupted between ranks leaves behind, in one sentence.
// Sees: seams/error.  Does not see: plans, threads, any backend.
// In: how it was interrupted, of how many ranks.  Out: R04.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

enum class Interrupted : std::uint8_t { never, in_a_step, by_a_lost_rank, while_set };

/// R04: `call` as "step 7" of a plan with so many ranks. A rank was lost, or a call was cut short, and the parameters are those of no step. Of one
/// rank, as of a card that tells a loss after its step, nobody else's parameters could differ.
///
/// Tested  run/interrupted_test, run/trainer_test
[[noreturn]] HEDDLE_COLD inline void refuse_after(Interrupted how, const std::string& call, int ranks) {
  const std::string begun = call + " was interrupted ";
  const std::string remedy = ". Fix: make a new trainer and load the parameters of the last good step.";
  if (how == Interrupted::while_set)
    throw Error(Code{'R', 4}, "a call that sets parameters was interrupted after it had set some of them, so they are of two origins" + remedy);
  const char* const came = how != Interrupted::in_a_step ? "when a rank was lost, and the processes cannot know what the others have changed since"
                           : ranks == 1                  ? "after it had changed parameters, and those from before it are gone"
                                                         : "after some ranks had changed their parameters, so they no longer agree";
  throw Error(Code{'R', 4}, written({begun, came, remedy}));
}

}  // namespace heddle::run_room
