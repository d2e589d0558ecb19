// SPDX-License-Identifier: MIT
// Room: backend. An SPMD function on threads: the same code on every rank of a mesh, with typed collectives between them.
// Sees: transport/threads, run/communicator, mesh, plan.  Does not see: compute, any other backend.
// In: a mesh and a function of a communicator.  Out: its run on every rank.
#pragma once

#include <chrono>
#include <utility>

#include "heddle/core/fire.hpp"  // first: the fewer includes lead to a rule, the fewer lines has its error
#include "heddle/mesh/norm.hpp"
#include "heddle/mesh/statistics.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/communicator.hpp"
#include "heddle/run/run_main.hpp"
#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

namespace heddle::backend_room {

/// What a function run by spmd() is given.
using ThreadCommunicator = MeshCommunicator<Threads::Endpoint>;

/// Runs job(comm) on one thread per rank of the mesh and returns when all have ended; throws what the lowest rank threw.
///
/// The calls of job lie outside every Program: nothing checks at build that all ranks make the same ones. A rank that makes another call, or throws,
/// ends the others' waits with an error, at the latest after the deadline.
/// Errors  M01, M02, M10 a mesh that is none; RankLost (R01), R13 a deadline of 0 or below, T01 counts that differ; what job throws
/// Tested  backend/spmd_threads_test
template <class Job> void spmd(const Mesh& mesh, Job&& job, std::chrono::nanoseconds deadline = std::chrono::seconds{60}) {
  Threads world{sound(mesh).ranks(), mesh_groups(mesh), PendingLimits{1, 1}, deadline};
  Workers workers{mesh.ranks()};
  workers.run([&](int rank) {
    try {
      ThreadCommunicator comm{world.endpoint(Rank{rank}), mesh, Rank{rank}};
      job(comm);
    } catch (...) {
      world.give_up(Rank{rank}, words_of(std::current_exception()));
      throw;
    }
  });
  workers.rethrow_first();
}

/// On the ranks and axes of a plan, beside it.
template <class ThePlan, class Job> void spmd(Job&& job, std::chrono::nanoseconds deadline = std::chrono::seconds{60}) {
  spmd(lower<ThePlan>().mesh, std::forward<Job>(job), deadline);
}

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::ThreadCommunicator, backend_room::spmd;
}  // namespace heddle::extending
