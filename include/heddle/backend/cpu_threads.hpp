// SPDX-License-Identifier: MIT
// Room: backend. CpuThreads: Eigen kernels on threads of one process, one rank each. Needs nothing but Eigen.
// Sees: compute/eigen, transport/threads, run.  Does not see: any other backend.
// In: a plan.  Out: Trainer<Plan, CpuThreads>.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "heddle/backend/cpu.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

namespace heddle::inline backend_room {

/// The ranks of a plan as threads of this process.
class ThreadSession {
 public:
  using Endpoint = Threads::Endpoint;

  ThreadSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline)
      : world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions}, deadline), workers_(needs.ranks) {
    if (const Diagnosis odd = RanksAsThreads::refusal(needs.ranks); !odd.ok()) throw Error{odd};
  }

  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) { return Threads::memory(needs); }
  /// job(rank) on the thread of every rank.
  template <class Job> void run(Job&& job) { workers_.run(job); }
  void rethrow_first() const { workers_.rethrow_first(); }
  [[nodiscard]] std::exception_ptr error(int rank) const { return workers_.error(rank); }
  [[nodiscard]] bool failed() const {
    for (int r = 0; r < workers_.ranks(); ++r)
      if (workers_.error(r)) return true;
    return false;
  }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return world_.endpoint(rank); }
  void give_up(Rank rank, const std::string& why) { world_.give_up(rank, why); }
  /// Every rank lives here, so there is nothing to share, and all can go on after one of them has thrown.
  [[nodiscard]] static bool local(Rank) { return true; }
  [[nodiscard]] static bool first_process() { return true; }
  static void share(Rank, std::span<std::byte>) {}
  bool reset() {
    world_.reset();
    return true;
  }
  [[nodiscard]] Threads& transport() { return world_; }

 private:
  Threads world_;
  Workers workers_;
};

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

}  // namespace heddle::inline backend_room
