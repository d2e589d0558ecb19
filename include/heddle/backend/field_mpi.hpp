// SPDX-License-Identifier: MIT
// Room: backend. FieldMpi: exact arithmetic with one rank in each process that MPI has started, to prove a plan with. It trains nothing.
// Sees: compute/field, transport/mpi, proof, run.  Does not see: any other backend, Eigen.
// In: a plan.  Out: prove<Plan, FieldMpi>().
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include "heddle/backend/mpi_session.hpp"
#include "heddle/heddle.hpp"
#include "heddle/proof/prove.hpp"

namespace heddle::backend_room {

/// One process a rank, as CpuMpi, with elements of the field. Every process makes the same call and finds the same; each runs one device beside its
/// rank.
///
/// Errors  R03 if the processes are not as many as the devices of the plan
/// Tested  backend/field_mpi_test
struct FieldMpi {
  using Compute = FieldCompute;
  using Reference = FieldCompute;
  using Session = FieldSession<MpiSession>;
  using SessionOfOne = FieldSession<LocalSession>;
  using Ranks = RanksAsProcesses;
};

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::FieldMpi;
}  // namespace heddle::extending
