// SPDX-License-Identifier: MIT
// Room: backend. CpuThreads: Eigen kernels on threads of one process, one rank each. Needs nothing but Eigen.
// Sees: compute/eigen, transport/threads, run.  Does not see: any other backend.
// In: a plan.  Out: Trainer<Plan, CpuThreads>.
#pragma once

#include <cstdint>

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/thread_session.hpp"
#include "heddle/run/world.hpp"

namespace heddle::backend_room {

/// CPU threads with Eigen: the embedded default.
///
/// Errors  R03 if WORLD_SIZE asks for more than one process
/// Tested  backend/cpu_threads_test
struct CpuThreads {
  using Compute = EigenCompute;
  using Reference = EigenCompute;
  using Session = ThreadSession;
  using SessionOfOne = ThreadSession;
  using Ranks = RanksAsThreads;
};

}  // namespace heddle::backend_room

// What heddle::compiled has of trainers on threads, for each type of targets and of inputs: one list for the library and for programs.
// NOLINTBEGIN(bugprone-macro-parentheses): types and `extern`
#define HEDDLE_RANKS_OF_TARGETS(WHERE, TARGET)                                                                    \
  WHERE template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, TARGET, float>;        \
  WHERE template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, TARGET, std::int32_t>; \
  WHERE template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, TARGET, std::uint8_t>
#define HEDDLE_RANKS_OF_THREADS(WHERE)          \
  HEDDLE_RANKS_OF_TARGETS(WHERE, std::int32_t); \
  HEDDLE_RANKS_OF_TARGETS(WHERE, float);        \
  HEDDLE_RANKS_OF_TARGETS(WHERE, heddle::TargetValue)
// NOLINTEND(bugprone-macro-parentheses)
#ifdef HEDDLE_COMPILED
HEDDLE_RANKS_OF_THREADS(extern);  // these lie in the library
#endif

namespace heddle {
using backend_room::CpuThreads;
}  // namespace heddle
