// SPDX-License-Identifier: MIT
// Room: backend. CpuMpi: Eigen kernels, one rank in each process that MPI has started.
// Sees: compute/eigen, transport/mpi, run.  Does not see: any other backend.
// In: a plan.  Out: Trainer<Plan, CpuMpi>.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/world_mpi.hpp"
#include "heddle/transport/mpi.hpp"
#include "heddle/transport/mpi_memory.hpp"

namespace heddle::inline backend_room {

/// The rank of a plan that lives in this process; the others live in theirs.
class MpiSession {
 public:
  using Endpoint = Mpi;

  MpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : MpiSession(needs, deadline, agreed_world()) {}
  MpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline, MPI_Comm world)
      : world_(world, needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, needs.elements}, deadline,
               {needs.program, 0, needs.seed, needs.options, needs.learning_rate}) {}

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
  LocalSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : MpiSession(needs, deadline, MPI_COMM_SELF) {}
};

/// CPU processes with Eigen. Every process makes the same trainers and calls; results are the same in all of them, and the same bits as on threads.
///
/// Errors  R03 if the processes are not as many as the devices of the plan; R08 if they run different programs; R10 if RANK names another rank
/// Tested  backend/cpu_mpi_test
struct CpuMpi {
  using Compute = EigenCompute;
  using Reference = EigenCompute;
  using Session = MpiSession;
  using SessionOfOne = LocalSession;
  using Ranks = RanksAsProcesses;
};

}  // namespace heddle::inline backend_room
