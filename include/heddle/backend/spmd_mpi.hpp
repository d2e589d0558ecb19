// SPDX-License-Identifier: MIT
// Room: backend. An SPMD function on processes: the same code on every rank of a mesh, with typed collectives between them.
// Sees: transport/mpi, run/communicator, mesh, plan.  Does not see: compute, any other backend.
// In: a mesh and a function of a communicator.  Out: its run as the rank of this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "heddle/backend/world_mpi.hpp"
#include "heddle/core/fire.hpp"  // first: the fewer includes lead to a rule, the fewer lines has its error
#include "heddle/mesh/norm.hpp"
#include "heddle/mesh/statistics.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/communicator.hpp"
#include "heddle/transport/mpi.hpp"

namespace heddle::backend_room {

/// What a function run by spmd_processes() is given.
using ProcessCommunicator = MeshCommunicator<Mpi>;

/// What processes compare before they begin: the axes of the mesh and their sizes.
[[nodiscard]] constexpr std::uint64_t mesh_hash(const Mesh& mesh) {
  Fnv hash;
  for (int i = 0; i < mesh.count; ++i) hash.add(mesh.axes[i], mesh.sizes[i]);
  return hash.value();
}

/// Runs job(comm) as the rank of this process; every process that mpirun has started calls it. Returns when the part of this process has ended and
/// throws what it threw.
///
/// As with spmd() on threads the calls of job lie outside every Program. A process that makes another call, or throws, ends the others' waits with an
/// error, at the latest after the deadline.
/// Errors  M01, M02, M10 a mesh that is none; R03 another number of processes than ranks, R08 other meshes, R10; RankLost (R01), R13 a deadline of 0
/// or below, T01 counts that differ;
///         what job throws
/// Tested  backend/spmd_mpi_test
template <class Job> void spmd_processes(const Mesh& mesh, Job&& job, std::chrono::nanoseconds deadline = std::chrono::seconds{60}) {
  Mpi world{agreed_world(), sound(mesh).ranks(), mesh_groups(mesh), PendingLimits{1, 1}, deadline, {.program = mesh_hash(mesh)}};
  try {
    ProcessCommunicator comm{world, mesh, world.rank()};
    job(comm);
  } catch (...) {
    world.give_up(world.rank(), words_of(std::current_exception()));
    throw;
  }
}

/// On the ranks and axes of a plan, beside it.
template <class ThePlan, class Job> void spmd_processes(Job&& job, std::chrono::nanoseconds deadline = std::chrono::seconds{60}) {
  spmd_processes(lower<ThePlan>().mesh, std::forward<Job>(job), deadline);
}

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::ProcessCommunicator, backend_room::spmd_processes;
}  // namespace heddle::extending
