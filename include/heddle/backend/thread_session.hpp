// SPDX-License-Identifier: MIT
// Room: backend. The ranks of a plan as threads of one process, whatever they compute with.
// Sees: transport/threads, run, seams.  Does not see: compute.
// In: what a plan asks of a transport.  Out: ThreadSession.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

namespace heddle::backend_room {

/// The ranks of a plan as threads of this process: DataParallel<4> has four.
///
/// Tested  backend/thread_session_test
class ThreadSession {
 public:
  using Endpoint = Threads::Endpoint;

  HEDDLE_APART ThreadSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline, const Environment& environment = process_environment)
      : world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, {}, needs.add}, deadline), workers_(needs.ranks) {
    if (const Diagnosis odd = RanksAsThreads::refusal(needs.ranks, environment); !odd.ok()) throw Error{odd};
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

}  // namespace heddle::backend_room
