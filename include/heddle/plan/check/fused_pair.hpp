// SPDX-License-Identifier: MIT
// Room: plan. Two entries that a kernel may run at once, piece by piece, do what they do one after another.
// Sees: plan/check/flow_reader, plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: entries that say that they may run with the next one.  Out: S17 with the layer, and what is not so.
#pragma once

#include <cstdint>

#include "heddle/plan/check/flow_reader.hpp"

namespace heddle::plan_room {

/// S17 of fused entries. Both are interpreted one after another as all others are, so what each takes and leaves is asked there. Here: the second
/// takes what the first makes, element by element, or row by row of a sum, and what the first reads is still there when the second has written. Of
/// entries 3 and 4 of a body, Linear and GELU, 4 is the second.
///
/// Tested  plan/check/fused_pair_test, mutants.table
struct FusedPair {
  int second = -1;           // entry of the pair in hand
  std::uint64_t there[4]{};  // names of what the first reads

  /// The first has run; `end` is that of its body.
  constexpr void open(FlowReader& flow, int end) {
    const Program& p = flow.p;
    second = flow.number + 1;
    const Entry& first = p.entries[flow.number];
    if (second >= end || !takes(flow, first, p.entries[second]))
      return flow.unasked(first.node < 0 ? flow.begin_node : first.node,
                          " may run at once with an entry that does not take what it makes piece by piece, in");
    for (int k = 0; k < 4; ++k) there[k] = flow.tensors.at(*reads(first, k)).what;
  }
  /// The second has run.
  constexpr void close(FlowReader& flow) {
    const Entry& first = flow.p.entries[second - 1];
    const Entry& last = flow.p.entries[second];
    second = -1;
    for (int k = 0; k < 4; ++k) {
      const Place& place = *reads(first, k);
      const bool row_by_row = first.what == BodyOp::add && place == last.d && first.features == flow.graph.leaf(last.node).out.elements();
      if (place == first.d || row_by_row || flow.tensors.at(place).what == there[k]) continue;
      return flow.writes_over(last.node, "what an entry still reads that may run at once with it");
    }
  }

 private:
  [[nodiscard]] static constexpr const Place* reads(const Entry& entry, int k) {
    return k == 0 ? &entry.a : k == 1 ? &entry.b : k == 2 ? &entry.c : &entry.e;
  }
  [[nodiscard]] static constexpr bool takes(const FlowReader& flow, const Entry& first, const Entry& next) {
    if (next.fused || first.phase != 0 || next.phase != 0 || next.node < 0 || next.node >= flow.graph.node_count || !first.d.set()) return false;
    const Leaf& leaf = flow.graph.leaf(next.node);
    const bool alone = leaf.operands == 1 && leaf.rows_together == 0;
    const bool each_element = alone && leaf.elementwise && leaf.parameter_count == 0 && leaf.statistics_elements() == 0;
    if (passes_back(first.what)) return each_element && next.what == BodyOp::leaf_backward && next.c == first.d;
    if (next.what != BodyOp::leaf_forward || next.a != first.d) return false;
    return first.what == BodyOp::leaf_forward ? each_element : first.what == BodyOp::add && alone;
  }
};

}  // namespace heddle::plan_room
