// SPDX-License-Identifier: MIT
// Room: plan. The graph as one rank of axis tensor sees it: the same nodes and names, leaves and values of the size that the rank has.
// Sees: graph, policy answers.  Does not see: memory, processes, threads.
// In: Graph, Layout.  Out: a Graph that sizes, memory and traffic are read off.
#pragma once

#include <cstddef>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// Owns the leaves as one rank of axis tensor has them: a Linear<8, 6> that is split by columns over 2 ranks gives 3 features.
template <int Leaves> struct LocalLeaves {
  static constexpr int most = Leaves > 0 ? Leaves : 1;
  TracedLeaf leaves[std::size_t{most}]{};
  Signature signatures[std::size_t{most}]{};
  Laid laid_between[std::size_t{most}]{};
  Laid gradient_between[std::size_t{most}]{};
  Spec spec_between[std::size_t{most}]{};
};

/// All leaves divided by their signatures, in tables of another owner. Paths, types and what a leaf is called stay those of the whole leaf.
constexpr void divide_leaves(const Graph& graph, const Layout& layout, TracedLeaf* leaves, Signature* signatures, Laid* laid_between,
                             Laid* gradient_between, Spec* spec_between) {
  const int ranks = layout.mesh.size(Axis::tensor);
  for (int l = 0; l < graph.leaf_count; ++l) {
    signatures[l] = layout.signature_of(graph, l);
    leaves[l] = graph.leaves[l];
    leaves[l].leaf = local_leaf(graph.leaves[l].leaf, signatures[l], ranks);
    laid_between[l] = layout.laid_between[l].there();
    gradient_between[l] = layout.laid_between[l].back();
    spec_between[l] = graph.leaves[l].leaf.out;
    divide(spec_between[l].shape, laid_between[l], ranks);
  }
}

template <int Leaves> [[nodiscard]] constexpr LocalLeaves<Leaves> divide_leaves(const Graph& graph, const Layout& layout) {
  LocalLeaves<Leaves> local;
  if constexpr (Leaves > 0)
    divide_leaves(graph, layout, local.leaves, local.signatures, local.laid_between, local.gradient_between, local.spec_between);
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
    g.split = GraphSplit{local.signatures, local.laid_between, local.gradient_between, local.spec_between, ranks};
    return g;
  }();
};

}  // namespace heddle::plan_room
