// SPDX-License-Identifier: MIT
// Room: backend. The processes that MPI has started, if the variables of another launcher do not say otherwise.
// Sees: transport/mpi_process, run/world.  Does not see: compute, plans.
// In: MPI and the environment.  Out: the communicator whose processes are ranks.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include "heddle/run/error.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/mpi_process.hpp"

namespace heddle::inline backend_room {

/// The world of every pairing with processes. MPI says how many there are and which this one is; RANK and WORLD_SIZE, which torchrun sets, must say
/// the same if they are there.
///
/// Errors  R03 another number of processes, R10 another rank, R20 no numbers
/// Tested  backend/world_mpi_test
[[nodiscard]] inline MPI_Comm agreed_world() {
  const MPI_Comm world = MpiProcess::instance().world();
  int processes = 0;
  int rank = 0;
  MPI_Comm_size(world, &processes);
  MPI_Comm_rank(world, &rank);
  if (const Diagnosis odd = beside_mpi(processes, rank); !odd.ok()) throw Error{odd};
  return world;
}

}  // namespace heddle::inline backend_room
