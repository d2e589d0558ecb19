// SPDX-License-Identifier: MIT
// Room: plan. What a body does around its units where they are sliced: gather the next one while this one computes, reduce what is final.
// Sees: graph, plan/body.  Does not see: processes, threads, kernels.
// In: BodyInput, the nodes of a chunk in the order of the body.  Out: gather and reduce entries.
#pragma once

#include "heddle/plan/body.hpp"

namespace heddle::inline plan_room {

/// Follows one body through its units. Rings have two slots, neighbours alternate: the slot of the next unit is that of the one before this.
template <class B> struct UnitWalk {
  const BodyInput& in;
  B& out;
  int first = 0;  ///< nodes of the chunk
  int last = 0;
  bool backward = false;
  int now = none;     ///< unit entered last
  int before = none;  ///< the one before it
  static constexpr int none = -1;

  constexpr void open() {
    if (!gathers()) return;
    for (int i = 0; i < last - first; ++i) {
      const int n = backward ? last - 1 - i : first + i;
      if (in.graph.nodes[n].parameter_count > 0) return append(Do::gather_start, in.bucket_of_node[n]);
    }
  }
  /// Before the entries of a node.
  constexpr void enter(int node) {
    if (in.graph.nodes[node].parameter_count == 0 || !(in.storage.parameters || in.storage.gradients)) return;
    const int unit = in.bucket_of_node[node];
    if (unit == now) return;
    if (gathers()) {
      append(Do::gather_wait, unit);
      if (const int next = neighbour(unit); next != none) append(Do::gather_start, next);
    }
    if (backward && in.storage.gradients && before != none) append(Do::reduce_wait, before);
    before = now;
    now = unit;
  }
  constexpr void close() {
    if (!backward || !in.storage.gradients) return;
    if (before != none) append(Do::reduce_wait, before);
    if (now != none) append(Do::reduce_wait, now);
  }

 private:
  /// A unit that is kept was gathered in the first forward of its chunk.
  [[nodiscard]] constexpr bool gathers() const { return in.storage.parameters && !(backward && in.storage.keeps); }
  constexpr void append(Do what, int bucket) {
    Entry& entry = out.append(what, in.buckets[bucket].lowest_node);
    entry.bucket = static_cast<std::int16_t>(bucket);
    entry.axis = in.storage.axis;
    if (in.storage.keeps && what != Do::reduce_wait) entry.when = When::first_micro_batch;
  }
  /// The unit that the body meets next; buckets of a role lie in descending order of their nodes.
  [[nodiscard]] constexpr int neighbour(int unit) const {
    const int next = backward ? unit + 1 : unit - 1;
    if (next < 0 || next >= in.bucket_count || in.buckets[next].role != in.buckets[unit].role) return none;
    return in.buckets[next].lowest_node >= first && in.buckets[next].lowest_node < last ? next : none;
  }
};

}  // namespace heddle::inline plan_room
