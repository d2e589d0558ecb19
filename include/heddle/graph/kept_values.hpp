// SPDX-License-Identifier: MIT
// Room: graph. The graph of a plan that keeps the floats of layers, and their gradients, in another element type than they compute in.
// Sees: graph, core.  Does not see: policies, devices, memory.
// In: Graph, ElementType.  Out: the same graph with values of this type.
#pragma once

#include <cstddef>

#include "heddle/graph/graph.hpp"
#include "heddle/graph/trace.hpp"

namespace heddle::graph_room {

/// What a leaf takes and gives as floats is of type `to` instead of `from`; parameters and statistics stay float32.
constexpr void keep_values(Leaf& leaf, ElementType from, ElementType to) {
  for (Spec* const spec : {&leaf.in, &leaf.other, &leaf.out})
    if (spec->type == from && spec->shape.dimensions != 0) spec->type = to;  // a leaf of one operand has no other
}
/// All leaves of a graph, in a table of another owner.
constexpr void keep_values(const Graph& graph, ElementType to, TracedLeaf* leaves) {
  for (int l = 0; l < graph.leaf_count; ++l) {
    leaves[l] = graph.leaves[l];
    keep_values(leaves[l].leaf, graph.values, to);
  }
}
/// The graph with these leaves.
[[nodiscard]] constexpr Graph with_values(Graph graph, ElementType to, const TracedLeaf* leaves) {
  graph.leaves = leaves;
  if (graph.input.type == graph.values) graph.input.type = to;
  for (int i = 1; i < graph.input_count; ++i)
    if (graph.more_inputs[i - 1].type == graph.values) graph.more_inputs[i - 1].type = to;
  graph.values = to;
  return graph;
}

/// Owns leaves as a constant: those of Linear<4, 3> alone are 1.
template <int Count> struct KeptLeaves {
  TracedLeaf of[std::size_t{Count > 0 ? Count : 1}]{};

  constexpr KeptLeaves(const Graph& graph, ElementType to) { keep_values(graph, to, of); }
};

/// The graph of a model whose values are kept as `Type`. Linear<4, 3> in bfloat16 takes 8 bytes a row and gives 6.
///
/// Tested  graph/kept_values_test, equivalence/mixed_test
template <class Model, ElementType Type> struct KeptValues {
  static constexpr KeptLeaves<graph_of<Model>.leaf_count> leaves{graph_of<Model>, Type};
  static constexpr Graph graph = with_values(graph_of<Model>, Type, leaves.of);
};
template <class Model> struct KeptValues<Model, ElementType::float32> { static constexpr const Graph& graph = graph_of<Model>; };

}  // namespace heddle::graph_room
