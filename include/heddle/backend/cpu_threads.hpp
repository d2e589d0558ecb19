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

#ifdef HEDDLE_COMPILED
extern template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, std::int32_t>;  // these lie in the library
extern template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, float>;
extern template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, std::int32_t, std::int32_t>;
extern template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, float, std::int32_t>;
#endif

namespace heddle {
using backend_room::CpuThreads;
}  // namespace heddle
