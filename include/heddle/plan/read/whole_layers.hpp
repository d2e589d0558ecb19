// SPDX-License-Identifier: MIT
// Room: plan. Layers that every rank of axis tensor runs whole, because the ranks do not divide their sizes: a remark on each that costs much.
// Sees: plan/program, plan/read, graph.  Does not see: machines, processes, threads.
// In: a Program, a limit.  Out: remark_on_whole_layers.
#pragma once

#include <cstdint>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/advice_report.hpp"
#include "heddle/plan/read/work.hpp"

namespace heddle::plan_room {

/// A signature of a leaf, whose size the ranks do not divide; null where a leaf has no signature, or one that the ranks do divide.
/// SelfAttention<Heads<4>, KeyValueHeads<1>> states one, by heads, which 2 ranks do not divide.
[[nodiscard]] constexpr const Signature* indivisible_signature(const Leaf& leaf, int ranks) {
  for (int i = 0; i < leaf.signature_count; ++i)
    if (indivisible_size(leaf, leaf.signatures[i], ranks) == 0) return nullptr;
  return leaf.signature_count > 0 ? &leaf.signatures[0] : nullptr;
}

/// Adds A10 for each layer of which all ranks of axis tensor do the same work, if that is at least `percent` of what a rank computes for a row. A
/// layer that the policy leaves whole though the ranks divide it costs less so, and gets none. Of 2 ranks a Repeat of a layer that is whole gets one.
///
/// Tested  plan/read/whole_layers_test
constexpr void remark_on_whole_layers(AdviceReport& report, const Program& p, int percent) {
  const int ranks = p.mesh.size(Axis::tensor);
  if (ranks == 1) return;
  const Graph& graph = *p.graph;
  std::int64_t all = 0;
  for (int n = 0; n < graph.node_count; ++n) all += graph.flops(n);
  for (int n = 0; n < graph.node_count; ++n) {
    if (graph.signature(n) != Signature{}) continue;
    const Signature* const how = indivisible_signature(graph.leaf(n), ranks);
    if (how == nullptr) continue;
    std::int64_t whole = 0;
    bool seen = false;
    for (int other = 0; other < graph.node_count; ++other) {
      if (graph.nodes[other].leaf != graph.nodes[n].leaf) continue;
      seen = seen || other < n;
      whole += graph.flops(other);
    }
    if (seen || whole == 0 || 100 * whole < percent * all) continue;
    const std::int64_t size = indivisible_size(graph.leaf(n), *how, ranks);
    Diagnosis d = Diagnosis{Code{'A', 10}, ""} << graph.describe(n).view() << " runs whole on each of the " << ranks
                                               << " ranks of axis tensor, which is " << 100 * whole / all << " % of what a rank computes, because "
                                               << ranks << " does not divide its ";
    write_indivisible(d, *how, ranks, size);
    d << ". Fix: use as many ranks as divide " << size << ": ";
    write_divisors(d, size);
    report.add(d << ", or a layer whose size they divide.");
  }
}

}  // namespace heddle::plan_room
