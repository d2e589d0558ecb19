// SPDX-License-Identifier: MIT
// Room: plan. What a body does around its units where they are sliced: gather the next one while this one computes, reduce what is final.
// Sees: graph, plan/lower/body.  Does not see: processes, threads, kernels.
// In: BodyInput, the nodes of a chunk in the order of the body.  Out: entries that gather, wait for reductions and add slices.
#pragma once

#include "heddle/plan/lower/body.hpp"

namespace heddle::plan_room {

/// Follows one body through its units; all bodies but the forward meet the last one first. Rings have two slots and neighbours alternate: the slot
/// of the next unit is that of the one before this, unless a unit between them is not gathered.
/// Units 0, 1 and 2 of a role have slots 0, 1 and 0.
struct UnitWalk {
  const BodyInput& in;
  Bodies& out;
  int begin_node = 0;  ///< nodes of the chunk
  int end_node = 0;
  BodyKind kind = BodyKind::forward;
  const bool* again = nullptr;  ///< by node: run again in an input part, which must give it
  bool frozen = false;          ///< follows units of parameters that are not trained: those are gathered, and nothing else
  int untrained = in.graph.last_untrained();
  int now = none;        ///< unit entered last
  int before = none;     ///< the one before it
  int ahead = none;      ///< the next unit whose parameters are read
  bool started = false;  ///< so is its gather
  static constexpr int none = -1;

  constexpr void open() {
    if (!gathers()) return;
    for (int i = 0; i < end_node - begin_node; ++i) {
      const int n = kind == BodyKind::forward ? begin_node + i : end_node - 1 - i;
      if (!holds(n)) continue;
      ahead = next_read(in.bucket_of_node[n]);
      return start();
    }
  }
  /// Before the entries of a node.
  constexpr void enter(int node) {
    if (!holds(node) || !(in.storage.parameters || in.storage.gradients)) return;
    const int unit = in.bucket_of_node[node];
    if (unit == now) return;
    const bool read = unit == ahead;
    if (read) {
      start();
      append(BodyOp::gather_wait, unit);
      ahead = next_read(neighbour(unit));
      started = false;
    }
    if (ahead != none && !(read && in.buckets[ahead].slot == in.buckets[unit].slot)) start();
    if (reduces() && before != none) finish(before);
    before = now;
    now = unit;
  }
  constexpr void close() {
    if (!reduces()) return;
    if (before != none) finish(before);
    if (now != none) finish(now);
  }

 private:
  /// The node has parameters of the units that are followed.
  [[nodiscard]] constexpr bool holds(int node) const {
    return (frozen ? in.graph.nodes[node].frozen_count : in.graph.nodes[node].trained_count()) > 0;
  }
  /// A unit that is kept was gathered in the first forward of its chunk.
  [[nodiscard]] constexpr bool gathers() const { return in.storage.parameters && (kind == BodyKind::forward || !in.storage.keeps); }
  [[nodiscard]] constexpr bool reduces() const { return !frozen && in.storage.gradients && (kind == BodyKind::backward || kind == BodyKind::weight); }

  constexpr void start() {
    if (ahead == none || started) return;
    append(BodyOp::gather_start, ahead);
    started = true;
  }
  constexpr void finish(int unit) {
    append(BodyOp::reduce_wait, unit);
    if (in.storage.adds_slices) append(BodyOp::add_slice, unit);
  }
  constexpr void append(BodyOp what, int bucket) {
    Entry& entry = out.append(what, in.buckets[bucket].lowest_node);
    entry.bucket = static_cast<std::int16_t>(bucket);
    entry.axis = in.storage.axis;
    const bool gathers = what == BodyOp::gather_start || what == BodyOp::gather_wait;
    entry.collective = gathers ? in.numbers.gather(bucket) : in.numbers.reduction(bucket, in.storage.axis);
    if (in.storage.keeps && gathers) entry.when = When::first_micro_batch;
    if (what == BodyOp::add_slice) entry.when = When::later_micro_batches;
  }
  /// The input part of a backward leaves out a layer whose input needs no gradient; gradients of parameters are rarely made of parameters.
  [[nodiscard]] constexpr bool reads(int node) const {
    if (!holds(node)) return false;
    if (frozen) return kind == BodyKind::forward || again[node] || (kind != BodyKind::weight && in.graph.runs_backward(node));
    if (kind == BodyKind::weight) return in.graph.leaf(node).weights_read;
    return kind != BodyKind::input || again[node] || !needs_no_gradient(in.graph, in.graph.nodes[node].operands[0], begin_node, untrained);
  }
  /// The unit itself, or the next one that the body reads.
  [[nodiscard]] constexpr int next_read(int unit) const {
    for (; unit != none; unit = neighbour(unit))
      for (int n = in.buckets[unit].lowest_node; n <= in.buckets[unit].highest_node; ++n)
        if (reads(n)) return unit;
    return none;
  }
  /// The unit that the body meets next; buckets of a role lie in descending order of their nodes.
  [[nodiscard]] constexpr int neighbour(int unit) const {
    const int next = kind == BodyKind::forward ? unit - 1 : unit + 1;
    if (next < (frozen ? in.bucket_count : 0) || next >= in.bucket_count + (frozen ? in.frozen_count : 0)) return none;
    if (in.buckets[next].role != in.buckets[unit].role) return none;
    return in.buckets[next].lowest_node >= begin_node && in.buckets[next].lowest_node < end_node ? next : none;
  }
};

/// Both kinds of units of one body side by side, each with slots of its own: a block may have parameters of both.
/// Of a frozen layer in front of a trained one the first is gathered, and the gather of the second starts with it.
struct UnitWalks {
  UnitWalk trained;
  UnitWalk frozen;

  constexpr UnitWalks(const BodyInput& in, Bodies& out, int begin_node, int end_node, BodyKind kind, const bool* again = nullptr)
      : trained{in, out, begin_node, end_node, kind, again}, frozen{in, out, begin_node, end_node, kind, again, true, trained.untrained} {}
  constexpr void open() {
    trained.open();
    if (trained.in.frozen_count > 0) frozen.open();
  }
  constexpr void enter(int node) {
    const Node& entered = trained.in.graph.nodes[node];
    if (entered.parameter_count == 0) return;
    if (entered.frozen_count == 0) return trained.enter(node);
    if (trained.in.frozen_count > 0) frozen.enter(node);
  }
  constexpr void close() { trained.close(); }
};

}  // namespace heddle::plan_room
