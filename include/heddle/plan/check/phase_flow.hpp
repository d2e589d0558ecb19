// SPDX-License-Identifier: MIT
// Room: plan. What grains tell between phases is summed over them and over all ranks that split the batch before a later phase reads it.
// Sees: plan/check/flow_reader, plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: entries of phases, of sums of grains and of reductions between them.  Out: S17 with the layer, what it reads and what lies there.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/plan/check/flow_reader.hpp"

namespace heddle::plan_room {

/// S17 of phases. What a phase tells is first a term of each grain and of each rank along the axes that split the batch; a sum of grains, and then a
/// reduction along each axis, shard before data, take these away one by one. On 2 replicas with 2 grains each both are needed.
///
/// Tested  plan/check/phase_flow_test, mutants.table
struct PhaseFlow : FlowReader {
  /// Of an entry of a leaf that has phases each way: it reads what all earlier ones told, and tells. True if it is the last, which makes a value, or
  /// the only one of those that make gradients of parameters.
  constexpr bool phase(const Entry& entry, bool back) {
    const int n = entry.node;
    const Phases& phases = back ? graph.leaf(n).backward_phases : graph.leaf(n).forward_phases;
    const bool runs = p.training && graph.runs_phases(n);
    if (!runs) {
      if (entry.phase != 0 || (back && entry.b.set())) unasked(n, " trains nothing, but runs in phases in");
      return entry.phase == 0;
    }
    const bool last = entry.phase == phases.count();
    if (entry.phase < 1 || entry.phase > phases.count()) return not_told(n, " runs at once, or in a phase that it does not have, in");
    if (back && entry.phase > 1 && entry.what != BodyOp::leaf_backward_input)
      return not_told(n, " makes gradients of parameters in a later phase in");
    if (!entry.b.set()) {  // what runs again reads the statistics alone; gradients of parameters alone need no other rank
      const bool again = !back && last && kind != BodyKind::forward;
      if (again) return holds(n, entry.e, FlowNames::statistics(n), leaves[graph.nodes[n].leaf].keeps, " what its phases have told");
      return (back && entry.phase == 1 && !entry.d.set()) || not_told(n, " asks no other rank between its phases in");
    }
    if (!back && kind != BodyKind::forward) return not_told(n, " asks other ranks once more in");
    for (int earlier = 1; earlier < entry.phase; ++earlier)
      if (!holds(n, told(entry, phases, earlier), FlowNames::told(n, back, earlier), lying::whole, " what all ranks told")) return false;
    if (last) return entry.d.set() || not_told(n, " makes nothing in its last phase in");
    if (entry.d.set() || (!back && entry.e.set())) return not_told(n, " writes before its last phase in");
    const Place here = told(entry, phases, entry.phase);
    const std::int64_t sums = phases.sums[entry.phase - 1];
    const Place* const read[] = {&entry.a, back ? &entry.c : &entry.a, back && entry.e.set() ? &entry.e : &entry.a};
    std::uint64_t names_read[3]{};
    for (int k = 0; k < 3; ++k) names_read[k] = tensors.at(*read[k]).what;
    if (!tensors.put_told(here, sums, FlowNames::told(n, back, entry.phase), lying::told(open()))) {
      too_small(n, sums);
      return false;
    }
    for (int k = 0; k < 3; ++k)
      if (tensors.at(*read[k]).what != names_read[k]) writes_over(n, "what its phases read");
    return false;
  }
  /// The last phase writes over nothing of that before it has read it.
  constexpr void spare_told(const Entry& entry, bool back) {
    const Phases& phases = back ? graph.leaf(entry.node).backward_phases : graph.leaf(entry.node).forward_phases;
    for (int earlier = 1; earlier < entry.phase && entry.b.set(); ++earlier)
      spare(entry.node, told(entry, phases, earlier), entry.d, false, "what all ranks told");
  }
  /// One sum of grains, or along one axis, of what a phase told.
  constexpr void sum(const Entry& entry) {
    const int n = entry.node;
    const bool back = kind != BodyKind::forward;
    const bool of_grains = entry.what == BodyOp::sum_grains;
    const FlowTensor there = tensors.at(entry.d);
    const std::int64_t open = lying::open(there.how);
    const std::int64_t takes = of_grains ? 1 : std::int64_t{2} << static_cast<int>(entry.axis);
    const bool next = (open & takes) != 0 && (open & before(entry)) == 0;
    if (there.what == FlowNames::told(n, back, entry.phase) && next && entry.features == there.elements && entry.when == When::always) {
      tensors.put_told(entry.d, there.elements, there.what, lying::told(open & ~takes));
      return;
    }
    refuse(n) << " has summed in" << here().view() << (of_grains ? " over grains" : " over ranks") << " what is not to be, or not yet: there lies ";
    say_tensor(fault, names, graph.node_count, there, there.how);
    fault << fix;
  }

 private:
  /// What is to be summed of what a phase tells.
  [[nodiscard]] constexpr std::int64_t open() const {
    std::int64_t bits = p.batch.grains() > 1 ? 1 : 0;
    for (const Axis a : batch_axes)
      if (p.batch_split[static_cast<int>(a)] && p.mesh.size(a) > 1) bits |= std::int64_t{2} << static_cast<int>(a);
    return bits;
  }
  /// What is to be summed before that of an entry: the order of the tree.
  [[nodiscard]] static constexpr std::int64_t before(const Entry& entry) {
    if (entry.what == BodyOp::sum_grains) return 0;
    std::int64_t bits = 1;
    for (const Axis a : batch_axes) {
      if (a == entry.axis) break;
      bits |= std::int64_t{2} << static_cast<int>(a);
    }
    return bits;
  }
  [[nodiscard]] constexpr Place told(const Entry& entry, const Phases& phases, int phase) const {
    return {entry.b.pool, entry.b.offset + told_begin(phases, phase, p.batch.grains())};
  }
  constexpr bool not_told(int node, std::string_view what) {
    unasked(node, what);
    return false;
  }
};

}  // namespace heddle::plan_room
