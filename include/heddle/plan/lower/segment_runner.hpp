// SPDX-License-Identifier: MIT
// Room: plan. Runs segments again inside a backward body: the forward of their layers from what was kept, before the first backward that reads it.
// Sees: graph, plan/lower/leaf_writer, plan/lower/unit_walk, plan/lower/values.  Does not see: processes, threads, kernels.
// In: ValueFacts, Recomputed, the scratch of a backward body.  Out: entries; the home of what is made again; its place is given up after its last
// read.
#pragma once

#include <cstddef>

#include "heddle/plan/lower/leaf_writer.hpp"
#include "heddle/plan/lower/unit_walk.hpp"

namespace heddle::plan_room {

/// Writes the forwards that run again in a backward, segment by segment, before the backward of the last layer of each.
/// Recompute<GELU> of Linear, GELU, Linear writes 1 forward again, before the backward of the last Linear, which reads what GELU gives.
struct SegmentRunner {
  const BodyInput& in;
  ValueFacts facts;
  Recomputed recomputed;
  Bodies& out;
  ScratchSpace& space;
  int chunk_in_hand = 0;  // whose backward is written
  Tables<Place, int, bool> tables{};
  Place* here = tables.make<Place>(in.graph.node_count + 1);   // by value
  int* reads = tables.make<int>(in.graph.node_count + 1);      // by root of what is made again: backwards that read it
  bool* weighed = tables.make<bool>(in.graph.node_count + 1);  // by root: a weight part of a split backward reads it
  int* uses = tables.make<int>(in.graph.node_count + 1);       // by root: reads still to come

  /// Calls visit(root) for what is made again and read by the backward of a node. It stands before its callers: clang evaluates no constant with a
  /// template that it sees later.
  template <class Visit> constexpr void each_read(int node, Visit visit) const {
    for (int k = 0; k < in.graph.nodes[node].operand_count && reads_input_value(in.graph, node); ++k)
      if (const int value = in.graph.nodes[node].operands[k]; value > 0 && facts.again[value - 1]) visit(facts.root[value]);
    if (saves_output(in.graph, node) && keeps_output(in.graph, node) && facts.again[node]) visit(facts.root[node + 1]);
  }

  constexpr SegmentRunner(const BodyInput& input, const ValueFacts& all, const Recomputed& what, Bodies& bodies, ScratchSpace& scratch)
      : in(input), facts(all), recomputed(what), out(bodies), space(scratch) {
    if (recomputed.segment_count == 0) return;
    for (int n = 0; n < in.graph.node_count; ++n)
      each_read(n, [&](int root) {
        ++reads[root];
        if (in.layout.order.splits_backward && in.graph.nodes[n].trained_count() > 0) weighed[root] = true;
      });
  }

  /// Before the backward of a node. seen(value): where the chunk sees what it has kept.
  template <class Seen> constexpr void before(int node, UnitWalks& units, Seen seen) {
    for (int s = recomputed.first_before[node]; s > 0; s = recomputed.segments[s - 1].next) {
      const Segment& segment = recomputed.segments[s - 1];
      count_uses(segment);
      for (int n = segment.begin; n < segment.end; ++n)
        if (facts.again[n]) run(n, units, seen);
    }
  }
  /// After the backward of a node: what it read last is given up.
  constexpr void after(int node) {
    if (recomputed.segment_count == 0) return;
    each_read(node, [&](int root) { end_use(root); });
    if (!facts.again[node]) return;
    release(out.taken[node]);
    release(out.given[node]);
    release(out.statistics[node]);
  }

 private:
  constexpr void count_uses(const Segment& segment) {
    for (int n = segment.begin; n < segment.end; ++n)
      if (facts.again[n]) uses[facts.root[n + 1]] = reads[facts.root[n + 1]];
    for (int n = segment.begin; n < segment.end; ++n)
      for (int k = 0; facts.again[n] && k < in.graph.nodes[n].operand_count; ++k)
        if (const int v = in.graph.nodes[n].operands[k]; v > 0 && facts.again[v - 1]) ++uses[facts.root[v]];
  }
  template <class Seen> constexpr void run(int node, UnitWalks& units, Seen seen) {
    if (in.storage.parameters) units.enter(node);  // what runs again reads parameters and makes no gradients of them
    for (int k = 0; k < in.graph.nodes[node].operand_count; ++k) here[in.graph.nodes[node].operands[k]] = seen(in.graph.nodes[node].operands[k]);
    const int value = node + 1;
    const int root = facts.root[value];
    here[value] = root == value ? place(weighed[root], in.held().value(value)) : out.home[root];
    out.home[value] = here[value];
    LeafWriter writer{in, out, space, here, true};
    const bool weighs = in.layout.order.splits_backward && in.graph.nodes[node].trained_count() > 0;
    if (in.held().has_taken(node)) out.taken[node] = place(weighs, in.held().taken(node));
    if (in.held().has_given(node)) out.given[node] = place(weighs, in.held().given(node));
    if (in.held().statistics(node) > 0 && in.held().kept_of_phases(node) == 0) out.statistics[node] = place(weighs, in.held().statistics(node));
    writer.write(node, out.taken[node], out.given[node]);
    for (int k = 0; k < in.graph.nodes[node].operand_count; ++k)
      if (const int v = in.graph.nodes[node].operands[k]; v > 0 && facts.again[v - 1]) end_use(facts.root[v]);
  }
  /// Until its last read, or until the weight part has read it.
  constexpr Place place(bool for_weights, std::int64_t bytes) {
    if (for_weights) return out.take(chunk_in_hand, PoolKind::gradient_reread, bytes);
    return Place{Place::scratch, space.take(bytes)};
  }
  constexpr void end_use(int root) {
    if (--uses[root] == 0) release(out.home[root]);
  }
  constexpr void release(const Place& at) {
    if (at.pool == Place::scratch) space.release(at.offset);
  }
};

}  // namespace heddle::plan_room
