// SPDX-License-Identifier: MIT
// Room: run. Several ranks may throw in one call; the user gets one error, that of the rank that began it.
// Sees: seams/error, run/step_input.  Does not see: policies, threads, any backend.
// In: a session after a failed run.  Out: the error, thrown.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// `position(rank)` says where the rank stopped and `cause(rank)` why, `locate()` where a value that is not finite begins.
///
/// Errors  the first error of the ranks that is no RankLost; what is no Error becomes the RankLost of its rank
/// Tested  run/rethrow_cause_test, equivalence/lost_rank_test
template <class Session, class Position, class Cause, class Locate>
[[noreturn]] HEDDLE_COLD void rethrow_cause(const Session& session, int ranks, const StepInput& input, Position position, Cause cause,
                                            Locate locate) {
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      if (session.error(rank)) std::rethrow_exception(session.error(rank));
    } catch (const RankLost&) {
      continue;  // a survivor: the rank that it lost has its own entry
    } catch (const NonFinite& found) {
      throw NonFinite(input.step, std::string{found.what()}.substr(13) + locate());
    } catch (const Error&) {
      throw;
    } catch (...) {
      throw RankLost(Rank{rank}, position(rank), input.step, cause(rank));
    }
  }
  session.rethrow_first();
  std::terminate();  // the run has failed, so some rank threw
}

}  // namespace heddle::run_room
