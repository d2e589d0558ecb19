// SPDX-License-Identifier: MIT
// Room: backend. CpuMpi: Eigen kernels, one rank in each process that MPI has started.
// Sees: compute/eigen, backend/mpi_session, transport/mpi_header, run.  Does not see: any other backend.
// In: a plan.  Out: Trainer<Plan, CpuMpi>.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/mpi_session.hpp"
#include "heddle/run/trained_ranks_bodies.hpp"

namespace heddle::backend_room {

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

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CpuMpi;
}  // namespace heddle
