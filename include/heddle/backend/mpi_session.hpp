// SPDX-License-Identifier: MIT
// Room: backend. The rank of a plan that lives in this process, one of those that MPI has started, whatever it computes with.
// Sees: transport/mpi, run, seams.  Does not see: compute.
// In: what a plan asks of a transport.  Out: MpiSession, LocalSession.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "heddle/backend/world_mpi.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/transport/mpi.hpp"
#include "heddle/transport/mpi_memory.hpp"
#include "heddle/transport/mpi_process.hpp"

namespace heddle::backend_room {

/// The rank of a plan that lives in this process; the others live in theirs.
///
/// Tested  backend/mpi_session_mpi_test, backend/cpu_mpi_test
class MpiSession {
 public:
  using Endpoint = Mpi;

  MpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : MpiSession(needs, deadline, agreed_world()) {}
  MpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline, MPI_Comm world)
      : world_(world, needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, needs.elements, needs.add}, deadline,
               {.program = needs.program,
                .seed = needs.seed,
                .options = needs.options,
                .learning_rate = needs.learning_rate,
                .most_draws = needs.most_draws,
                .build = needs.build}) {}

  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) { return mpi_memory(needs); }
  /// job(rank) for the rank of this process.
  template <class Job> void run(Job&& job) {
    error_ = nullptr;
    try {
      job(world_.rank().value);
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  void rethrow_first() const {
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return local(Rank{rank}) ? error_ : nullptr; }
  [[nodiscard]] bool failed() const { return error_ != nullptr; }
  [[nodiscard]] Endpoint& endpoint(Rank) { return world_; }
  [[nodiscard]] bool local(Rank rank) const { return rank == world_.rank(); }
  [[nodiscard]] bool first_process() const { return world_.rank() == Rank{0}; }
  void share(Rank owner, std::span<std::byte> bytes) { world_.share(owner, bytes); }
  void give_up(Rank rank, const std::string& why) { world_.give_up(rank, why); }
  /// A process that has stopped cannot be called back.
  static bool reset() { return false; }
  [[nodiscard]] Mpi& transport() { return world_; }

 private:
  Mpi world_;
  std::exception_ptr error_;
};

/// A plan of one device in this process, whatever the others do.
class LocalSession : public MpiSession {
 public:
  LocalSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : MpiSession(needs, deadline, own_world()) {}

 private:
  /// MPI may not run yet: a plan of one device can be the first.
  [[nodiscard]] static MPI_Comm own_world() {
    (void)MpiProcess::instance();
    return MPI_COMM_SELF;
  }
};

}  // namespace heddle::backend_room
