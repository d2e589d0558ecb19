// SPDX-License-Identifier: MIT
// Room: plan. Which entries a micro-batch runs; every collective that a step starts, and how often: ledger and cost read it here.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: each_collective, runs_in.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Whether a micro-batch runs what stands under a condition: the executor, the simulator and what counts starts ask here. Of four micro-batches
/// number 3 is the last. Whether a step reports its loss is not asked: it counts as if it did.
///
/// Tested  plan/read/each_collective_test, run/program_walk_test
[[nodiscard]] constexpr bool runs_in(const Program& p, When when, int micro_batch) {
  switch (when) {
    case When::last_micro_batch: return micro_batch == p.batch.total_micro_batches() - 1;
    case When::first_micro_batch: return micro_batch == 0;
    case When::later_micro_batches: return micro_batch != 0;
    case When::reporting:
    case When::always: break;
  }
  return true;
}

/// How often an entry of a body is run in one step.
[[nodiscard]] constexpr std::int64_t times_in_a_step(const Program& p, const Entry& entry) {
  const std::int64_t micro_batches = p.batch.total_micro_batches();
  if (entry.when == When::first_micro_batch || entry.when == When::last_micro_batch) return 1;
  return entry.when == When::later_micro_batches ? micro_batches - 1 : micro_batches;
}

[[nodiscard]] constexpr bool starts_collective(ListOp op) { return op == ListOp::reduce_start || op == ListOp::gather_start; }
[[nodiscard]] constexpr bool starts_collective(BodyOp what) {
  return what == BodyOp::reduce_start || what == BodyOp::gather_start || (what >= BodyOp::reduce_value && what <= BodyOp::scatter_value) ||
         what == BodyOp::reduce_parameter || what == BodyOp::reduce_phase;
}

/// visit(role, collective, times) for every collective that ranks of a role start in one step, in lists, behind their last compute, and in bodies.
///
/// Tested  plan/read/each_collective_test, cost/simulate_test
template <class Visit> constexpr void each_collective(const Program& p, Visit visit) {
  if (p.collective_count == 0) return;  // nothing to do, or a refused plan
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].end - 1; i >= p.lists[r].begin && !computes(p.instructions[i].op); --i)
      if (starts_collective(p.instructions[i].op)) visit(r, p.collectives[p.instructions[i].collective], std::int64_t{1});
  for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
    for (int c = 0; c < p.chunks; ++c)
      for (int e = bodies[c].begin; e < bodies[c].end; ++e)
        if (starts_collective(p.entries[e].what))
          visit(p.device_of_chunk[c], p.collectives[p.entries[e].collective], times_in_a_step(p, p.entries[e]));
}

}  // namespace heddle::plan_room
