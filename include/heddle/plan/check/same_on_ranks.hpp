// SPDX-License-Identifier: MIT
// Room: plan. What the deadlock proof leaves out may be left out: collectives of bodies stay within one role, and no predicate depends on a rank.
// Sees: plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program.  Out: ok, or S16 with the device and the line, or the chunk and the layer.
#pragma once

#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// All ranks of a role answer alike: they count micro-batches alike, and are asked for the loss alike (R19). A predicate on rows or on a coordinate
/// would be true on some of them: it is no line here.
[[nodiscard]] constexpr bool same_on_all_ranks(When when) {
  switch (when) {
    case When::always:
    case When::last_micro_batch:
    case When::reporting:
    case When::first_micro_batch:
    case When::later_micro_batches: return true;
  }
  return false;
}

/// The ranks of a group along an axis are of one role, so they run one list: all of them come to a collective, or none does.
[[nodiscard]] constexpr bool within_one_role(const Mesh& mesh, Axis axis) { return axis != Axis::stage && mesh.size(axis) > 1; }

/// S16 of one body.
[[nodiscard]] constexpr Diagnosis check_same_on_ranks(const Program& p, int chunk, const IndexRange& body) {
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    const BodyOp what = entry.what;
    const bool collective =
        (what >= BodyOp::reduce_start && what <= BodyOp::scatter_value) || what == BodyOp::reduce_parameter || what == BodyOp::reduce_phase;
    if (!collective && entry.when == When::always) continue;
    if (!same_on_all_ranks(entry.when))
      return Diagnosis{Code{'S', 16}, ""} << "entry " << e - body.begin << " of a body of chunk " << chunk
                                          << " runs on a condition that the ranks of its device need not share. Fix: let it run always, or by the "
                                             "number of the micro-batch.";
    const bool of_units = entry.what == BodyOp::gather_start || entry.what == BodyOp::gather_wait;  // these go along the axis that slices units
    if (collective && !of_units && !within_one_role(p.mesh, entry.axis))
      return Diagnosis{Code{'S', 16}, ""} << "entry " << e - body.begin << " of a body of chunk " << chunk << " is a collective over axis "
                                          << name_of(entry.axis) << ", of " << p.mesh.size(entry.axis)
                                          << " ranks, but the proof that nothing deadlocks holds for groups within one stage. Fix: reduce and "
                                             "gather along an axis that the ranks of one stage share.";
  }
  return {};
}

/// S16 of the lists: computes, transfers and steps always run; what belongs to the loss runs if it is asked for, and then all of it.
[[nodiscard]] constexpr Diagnosis check_same_on_ranks(const Program& p, int role, const Instruction& line, int at) {
  const bool of_loss = line.op == ListOp::report || p.moves(line, Purpose::loss);
  if (of_loss ? line.when == When::reporting : line.when == When::always) {
    const bool reduces = line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait;
    const bool at_the_end = p.moves(line, Purpose::norm) && line.axis == Axis::stage && p.mesh.size(Axis::stage) > 1;
    if (!reduces || within_one_role(p.mesh, line.axis) || at_the_end) return {};
    return Diagnosis{Code{'S', 16}, ""} << "device " << role << " reduces at line " << at << " over axis " << name_of(line.axis) << ", of "
                                        << p.mesh.size(line.axis)
                                        << " ranks, but only norms and flags are reduced over stages, at the end. Fix: reduce along an axis that the "
                                           "ranks of one stage share.";
  }
  return Diagnosis{Code{'S', 16}, ""} << "device " << role << " runs line " << at << (of_loss ? " of the loss always" : " on a condition")
                                      << ", but what it waits for, or what waits for it, does not. Fix: let lines of the loss run where it is "
                                         "reported, and all others always.";
}

/// S16. Bodies always; of the lists all lines, or those of a chain as LineCheck leaves it, if it has met no condition on a line that computes or
/// transfers: lines that neither compute nor transfer. `first_closing` below 0 is no chain.
/// Tested  plan/check/same_on_ranks_test
[[nodiscard]] constexpr Diagnosis check_same_on_ranks(const Program& p, const int* after = nullptr, int first_closing = -1) {
  for (int c = 0; c < p.chunks; ++c)
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies}) {
      if (bodies != p.forward_bodies && !p.training) continue;
      if (const Diagnosis found = check_same_on_ranks(p, c, bodies[c]); !found.ok()) return found;
    }
  int chain = first_closing;
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      if (chain >= 0) {  // on to the next line of the chain
        if (chain == 0 || chain > p.lists[r].end) break;
        i = chain - 1;
        chain = after[i];
      }
      const Instruction& line = p.instructions[i];
      if (line.bucket == -1 && line.collective < 0 && line.when == When::always && line.op != ListOp::report) continue;
      if (const Diagnosis found = check_same_on_ranks(p, r, line, i - p.lists[r].begin); !found.ok()) return found;
    }
  return {};
}

}  // namespace heddle::plan_room
