// SPDX-License-Identifier: MIT
// Room: plan. Writes the forward of one leaf: what it takes is laid as it takes it, what it gives as the value lies.
// Sees: graph, plan/lower/body, plan/lower/scratch.  Does not see: processes, threads, kernels.
// In: where values lie.  Out: entries of a forward, in a forward body or where it runs again.
#pragma once

#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/phase_writer.hpp"
#include "heddle/plan/lower/scratch.hpp"

namespace heddle::plan_room {

/// Writes the entries of one leaf: its forward, and conversions where its input or output lies another way between layers. Without axis tensor that
/// is one entry.
struct LeafWriter {
  const BodyInput& in;
  Bodies& out;
  ScratchSpace& scratch;
  const Place* here;   ///< by value
  bool again = false;  ///< in a backward: what phases have told is in the statistics

  /// `taken` and `given`: where these forms are kept; unset: aside, until the leaf has run. Statistics that no backward reads are not made.
  constexpr void write(int node, const Place& taken, const Place& given) {
    const Node& n = in.graph.nodes[node];
    if (n.operand_count == 0) return load(node);
    const TracedLeaf& traced = in.graph.leaves[n.leaf];
    const bool converts_input = in.graph.converts_input(node);
    const bool keeps = keeps_output(in.graph, node);
    const std::int64_t features = traced.leaf.out.elements();
    const Place from = converts_input ? take_input(node, taken) : here[n.operands[0]];
    const Place to = keeps ? here[node + 1] : given.set() ? given : aside(in.held().given(node));
    if (traced.leaf.sums) {
      out.append_sum(features, here[n.operands[1]], from, to).node = node;
    } else if (traced.leaf.reshapes) {
      if (!(from == to)) out.append_copy(traced.leaf.out, from, to);
    } else {
      Entry& entry = out.append(BodyOp::leaf_forward, node);
      entry.features = features;
      entry.a = from;
      if (n.operand_count == 2) entry.b = here[n.operands[1]];
      const bool phases = traced.leaf.forward_phases.any() && in.training && in.graph.runs_phases(node);
      Entry& last = phases ? write_phases(entry, traced.leaf.forward_phases) : entry;
      last.d = to;
      last.e = out.statistics[node];
    }
    if (converts_input && !taken.set()) release(from);
    if (!in.graph.converts_output(node)) return;
    lay_output(node, to, keeps);
    if (!keeps && !given.set()) release(to);
  }

  constexpr Place aside(std::int64_t bytes) { return Place{Place::scratch, scratch.take(bytes)}; }
  constexpr void release(const Place& place) {
    if (place.pool == Place::scratch) scratch.release(place.offset);
  }
  /// What lies at `a` in one form is laid at `d` in another.
  constexpr void lay(int node, const Shape& whole, Laid from, Laid to, const Place& a, const Place& d, ElementType type) {
    const Place parts = travels(from, to) ? aside(in.held().parts(whole.elements(), type)) : Place{};
    out.append_conversion(in, node, whole, from, to, a, parts, d, type);
    release(parts);
  }

 private:
  /// An input of the model: every chunk loads its own, also where it runs again.
  constexpr void load(int node) {
    const Leaf& leaf = in.graph.leaf(node);
    Entry& entry = out.append(BodyOp::load_input, node);
    entry.operand = static_cast<std::int8_t>(leaf.source - 1);
    entry.type = leaf.out.type;
    entry.features = leaf.out.elements();
    entry.d = here[node + 1];
  }
  /// Returns the last of them, before which what it reads is given up: nothing is laid aside in between.
  constexpr Entry& write_phases(Entry& first, const Phases& phases) {
    if (again) {
      first.phase = static_cast<std::int8_t>(phases.count());
      return first;
    }
    const Place told = aside(told_in_all(phases, in.batch.grains()));
    release(told);
    return PhaseWriter{in, out}.behind(first, phases, BodyOp::leaf_forward, told);
  }
  /// The input as the leaf takes it, made of what lies another way.
  constexpr Place take_input(int node, const Place& taken) {
    const int value = in.graph.nodes[node].operands[0];
    const Place to = taken.set() ? taken : aside(in.held().taken(node));
    lay(node, in.held().whole_input(node), in.graph.laid_between(value), in.graph.signature(node).input, here[value], to, in.graph.values);
    return to;
  }
  constexpr void lay_output(int node, const Place& from, bool keeps) {
    const Laid how = in.graph.signature(node).output;
    const Shape whole = in.held().whole_output(node);
    if (keeps) return out.append_conversion(in, node, whole, how, in.graph.laid_between(node + 1), {}, {}, from, in.graph.values);
    lay(node, whole, how, in.graph.laid_between(node + 1), from, here[node + 1], in.graph.values);
  }
};

}  // namespace heddle::plan_room
