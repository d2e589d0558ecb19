// SPDX-License-Identifier: MIT
// Room: plan. A pass over written bodies marks pairs of entries that a kernel may run at once: a layer and a function of each of its elements, a sum
// and its norm.
// Sees: graph, plan/lower/body, plan/program.  Does not see: processes, threads, kernels.
// In: bodies.  Out: Entry::fused; no place and no entry changes.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/body.hpp"

namespace heddle::plan_room {

/// Marks the first entry of a pair. In a pair the second entry takes what the first one makes, and a kernel may make both piece by piece: it writes
/// a piece of the second value while the first entry still reads. So the second writes over nothing that the first reads. Of Linear, GELU, Linear
/// the forward of 0 is marked, with which 1 may run, and the backward of 2, likewise with that of 1.
///
/// What lies between the two is kept where anybody reads it again: its place is that of an entry by itself.
/// Tested  plan/lower/fusion_test
struct Fusion {
  const BodyInput& in;
  Bodies& out;

  constexpr void mark() {
    for (int c = 0; c < in.layout.chunk_count; ++c) {
      mark(out.forward[c]);
      if (in.training) mark(out.backward[c]);
    }
  }

 private:
  constexpr void mark(const IndexRange& body) {
    Entry* const entries = out.entries.data;
    for (int e = body.begin; e + 1 < body.end; ++e)
      if (is_pair(entries[e], entries[e + 1])) entries[e++].fused = true;  // an entry is in one pair
  }
  [[nodiscard]] constexpr bool is_pair(const Entry& first, const Entry& second) const {
    if (second.phase != 0 || first.phase != 0 || !first.d.set()) return false;
    if (second.what == BodyOp::leaf_backward)
      return passes_back(first.what) && second.c == first.d && in_tail(second.node) && apart(first, second, in.held().of(leaf(second).in));
    if (second.what != BodyOp::leaf_forward || !(second.a == first.d)) return false;
    if (first.what != BodyOp::leaf_forward && (first.what != BodyOp::add || first.node < 0)) return false;
    return (first.what == BodyOp::add ? takes_sum(second.node) : in_tail(second.node)) && apart(first, second, in.held().of(leaf(second).out));
  }
  [[nodiscard]] constexpr const Leaf& leaf(const Entry& entry) const { return in.graph.leaf(entry.node); }
  /// A function of each element by itself.
  [[nodiscard]] constexpr bool in_tail(int node) const {
    const Leaf& l = in.graph.leaf(node);
    return l.elementwise && l.operands == 1 && l.parameter_count == 0 && l.statistics.dimensions == 0;
  }
  /// A norm: it reads a row of the sum more than once, which is then still near.
  [[nodiscard]] constexpr bool takes_sum(int node) const {
    const Leaf& l = in.graph.leaf(node);
    return l.statistics.dimensions != 0 && l.rows_together == 0 && l.operands == 1 && l.in.elements() == l.out.elements();
  }
  /// A tensor in its place: {{Place::scratch, 64}, 128} ends at byte 192 of the scratch.
  struct Tensor {
    Place place;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] static constexpr bool overlap(const Tensor& x, const Tensor& y) {
    return x.place.set() && x.place.pool == y.place.pool && x.place.offset < y.place.offset + y.bytes && y.place.offset < x.place.offset + x.bytes;
  }
  /// The second writes over nothing that the first reads, but where the first does so itself, in place. A row of a sum is made of the rows of its
  /// terms alone, so the norm of that row may lie where they did.
  [[nodiscard]] constexpr bool apart(const Entry& first, const Entry& second, std::int64_t written) const {
    const bool sums = first.what == BodyOp::add;
    const bool back = passes_back(first.what);
    const HeldBytes held = in.held();
    const std::int64_t terms = held.of(first.features);
    const Tensor read[] = {{first.a, sums ? terms : held.of(leaf(first).in)},
                           {first.b, sums                        ? terms
                                     : leaf(first).operands == 2 ? held.of(leaf(first).other)
                                                                 : held.of(leaf(first).out)},
                           {first.c, back ? held.of(leaf(first).out) : 0},
                           {first.e, sums ? 0 : held.statistics(first.node)}};
    const Tensor writes[] = {{second.d, written}, {second.e, held.statistics(second.node)}};
    for (const Tensor& r : read) {
      if (r.place == first.d) continue;
      if (overlap(r, writes[0]) && !(sums && r.place == second.d)) return false;
      if (second.e.set() && overlap(r, writes[1])) return false;
    }
    return true;
  }
};

}  // namespace heddle::plan_room
