// SPDX-License-Identifier: MIT
// Room: plan. The graph as one rank of axis tensor sees it: the same nodes and names, leaves and values of the size that the rank has.
// Sees: graph, policy answers.  Does not see: memory, processes, threads.
// In: Graph, Layout.  Out: a Graph that sizes, memory and traffic are read off.
#pragma once

#include <cstddef>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::inline plan_room {

template <int Leaves> struct LocalLeaves {
  static constexpr int most = Leaves > 0 ? Leaves : 1;
  TracedLeaf leaves[std::size_t{most}]{};
  Signature signatures[std::size_t{most}]{};
  Laid rests[std::size_t{most}]{};
  Spec resting[std::size_t{most}]{};
};

/// All leaves divided by their signatures. Paths, types and what a leaf is called stay those of the whole leaf.
template <int Leaves> [[nodiscard]] constexpr LocalLeaves<Leaves> divide_leaves(const Graph& graph, const Layout& layout) {
  LocalLeaves<Leaves> local;
  const int ranks = layout.mesh.size(Axis::tensor);
  for (int l = 0; l < Leaves; ++l) {
    local.signatures[l] = layout.signature_of(graph, l);
    local.leaves[l] = graph.leaves[l];
    local.leaves[l].leaf = local_leaf(graph.leaves[l].leaf, local.signatures[l], ranks);
    local.rests[l] = layout.rest[l];
    local.resting[l] = graph.leaves[l].leaf.out;
    divide(local.resting[l].shape, local.rests[l], ranks);
  }
  return local;
}

/// The local graph of a plan; without axis tensor it is the graph itself.
template <class Request> struct Localised {
  static constexpr int ranks = Request::layout.mesh.size(Axis::tensor);
  static constexpr auto local = divide_leaves < (ranks > 1) ? Request::graph.leaf_count : 0 > (Request::graph, Request::layout);
  static constexpr Graph graph = [] {
    Graph g = Request::graph;
    if (ranks == 1) return g;
    g.leaves = local.leaves;
    g.split = GraphSplit{local.signatures, local.rests, local.resting, ranks};
    return g;
  }();
};

}  // namespace heddle::inline plan_room
