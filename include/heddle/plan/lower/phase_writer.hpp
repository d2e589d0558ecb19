// SPDX-License-Identifier: MIT
// Room: plan. Writes what stands between the phases of a leaf: what grains tell is summed along their tree, then over the ranks that split the batch.
// Sees: graph, plan/lower/body.  Does not see: processes, threads, kernels.
// In: the phases of a leaf, where it tells.  Out: entries, and rows of the table of collectives.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/body.hpp"

namespace heddle::plan_room {

/// Behind a phase the sum over grains, and one along each axis that splits the batch, shard before data, as gradients are summed. BatchNorm2d<3,
/// Synchronised> over 2 replicas with one grain each writes 3 forwards, behind each of the first two a reduction of 3 floats.
///
/// Tested  plan/lower/phase_writer_test
struct PhaseWriter {
  const BodyInput& in;
  Bodies& out;

  /// The first phase is `entry`, which stands there and reads what all of them do; returns the last, which is to write what the leaf gives.
  constexpr Entry& behind(Entry& entry, const Phases& phases, BodyOp later, const Place& told) {
    const Entry first = entry;
    entry.phase = 1;
    entry.b = told;
    Entry* last = &entry;
    for (int phase = 1; phase < phases.count(); ++phase) {
      sum(first.node, phases, phase, told);
      last = &out.entries.append();
      *last = first;
      last->what = later;
      last->phase = static_cast<std::int8_t>(phase + 1);
      last->b = told;
    }
    return *last;
  }

 private:
  constexpr void sum(int node, const Phases& phases, int phase, Place told) {
    told.offset += told_begin(phases, phase, in.batch.grains());
    const auto append = [&](BodyOp what) -> Entry& {
      Entry& entry = out.append(what, node);
      entry.phase = static_cast<std::int8_t>(phase);
      entry.features = phases.sums[phase - 1];
      entry.d = told;
      return entry;
    };
    if (in.batch.grains() > 1) append(BodyOp::sum_grains);
    for (const Axis a : batch_axes) {
      if (!in.layout.batch_split[static_cast<int>(a)] || in.layout.mesh.size(a) == 1) continue;
      Entry& entry = append(BodyOp::reduce_phase);
      entry.axis = a;
      Collective& c = out.append_collective(entry, CollectiveKind::all_reduce, Purpose::phase);
      c.order = order_of(c.purpose, in.batch, in.layout.mesh, in.training);
      c.source = c.target = address_of(told);
      c.elements = c.payload = entry.features;
    }
  }
};

}  // namespace heddle::plan_room
