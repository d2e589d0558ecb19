// SPDX-License-Identifier: MIT
// Room: plan. Which values share storage, which outlive their body, which cross between chunks, which are made again.
// Sees: graph, policy answers, plan/program.  Does not see: processes, threads, instructions.
// In: Graph, Layout, what is to run again.  Out: ValueFacts, edges between chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/program.hpp"

namespace heddle::inline plan_room {

/// An edge between two chunks: a value and the chunk that takes it.
struct CutEdge {
  int value = 0;
  int from_chunk = 0;
  int to_chunk = 0;
};

/// Calls visit(value, from chunk, to chunk) once for each value that a later chunk takes, by value and then by chunk.
template <class Visit> constexpr void each_cut_edge(const Graph& graph, const Layout& layout, Visit visit) {
  if (layout.chunk_count == 1) return;
  for (int to = 1; to < layout.chunk_count; ++to) {
    for (int n = layout.first_node[to]; n < layout.first_node[to + 1]; ++n) {
      for (int k = 0; k < graph.nodes[n].operand_count; ++k) {
        const int value = graph.nodes[n].operands[k];
        if (value == 0 || value > layout.first_node[to]) continue;
        bool seen = false;
        for (int e = layout.first_node[to]; e <= n && !seen; ++e)
          for (int j = 0; j < graph.nodes[e].operand_count; ++j)
            if ((e < n || j < k) && graph.nodes[e].operands[j] == value) seen = true;
        if (!seen) visit(CutEdge{value, layout.chunk_of(value - 1), to});
      }
    }
  }
}

/// Nodes of one chunk that run again together, in their order, before the backward of one of them or of a reader of what they give.
struct Segment {
  int begin = 0;
  int end = 0;
  int before = -1;  ///< node; -1: nobody reads what they give
  int next = 0;     ///< 1 + the next segment before the same node, 0 ends the list
};

/// What a plan runs again in its backward; nothing if it does not ask for it.
template <int Nodes> struct Recomputed {
  bool dropped[std::size_t{Nodes + 1}]{};  ///< by value: not kept for the backward
  bool runs[std::size_t{Nodes + 1}]{};     ///< by node: makes a dropped value that is read again
  bool read[std::size_t{Nodes + 1}]{};     ///< by value: by a node that runs again
  Segment segments[std::size_t{Nodes + 1}]{};
  int segment_count = 0;
  int first_before[std::size_t{Nodes + 1}]{};  ///< by node: 1 + the first segment that runs before its backward
};

/// Facts about every value of one graph under one layout; value v is the output of node v - 1.
template <int Nodes> struct ValueFacts {
  int root[std::size_t{Nodes + 1}]{};     ///< values of one root share one storage (reshapes, in-place elementwise leaves)
  bool framed[std::size_t{Nodes + 1}]{};  ///< by root: read again in the backward, sent, or taken by another chunk
  bool again[std::size_t{Nodes + 1}]{};   ///< by node: run again in the backward, because what it gives is not kept
  int consumers[std::size_t{Nodes + 1}]{};

  [[nodiscard]] constexpr bool saved(int value) const { return framed[root[value]]; }
};

[[nodiscard]] constexpr bool saves_input(const Leaf& leaf) { return leaf.saves == Saves::input || leaf.saves == Saves::both; }
[[nodiscard]] constexpr bool saves_output(const Leaf& leaf) { return leaf.saves == Saves::output || leaf.saves == Saves::both; }

/// Each rank has a part of what the leaf takes whole: it is gathered for the forward. The parts are kept, not the whole.
[[nodiscard]] constexpr bool gathers_input(const Graph& graph, int node) {
  return graph.converts_input(node) && graph.rest(graph.nodes[node].operands[0]).sharded();
}
/// The backward reads the value where it lies, and not a form of it that is kept beside.
[[nodiscard]] constexpr bool reads_input_value(const Graph& graph, int node) {
  return saves_input(graph.leaf(node)) && (!graph.converts_input(node) || gathers_input(graph, node));
}
/// So a backward, or the part of one, that reads it gathers it again.
[[nodiscard]] constexpr bool gathers_again(const Graph& graph, int node, Do backward) {
  const Leaf& leaf = graph.leaf(node);
  return gathers_input(graph, node) && saves_input(leaf) && (backward != Do::leaf_backward_input || leaf.input_part_reads_saved);
}

/// What the leaf gives is what lies between layers, at most summed in place.
[[nodiscard]] constexpr bool keeps_output(const Graph& graph, int node) {
  return !graph.converts_output(node) || (graph.signature(node).output.partial() && graph.rest(node + 1).replicated());
}

/// `training` false: nothing is read again, so only values that leave their chunk are framed.
template <int Nodes>
[[nodiscard]] constexpr ValueFacts<Nodes> study_values(const Graph& graph, const Layout& layout, bool training,
                                                       const Recomputed<Nodes>& recomputed = {}) {
  ValueFacts<Nodes> facts;
  bool input_needed[std::size_t{Nodes + 1}]{};
  for (int n = 0; n < graph.node_count; ++n) {
    const Leaf& leaf = graph.leaf(n);
    for (int k = 0; k < graph.nodes[n].operand_count; ++k) {
      const int value = graph.nodes[n].operands[k];
      ++facts.consumers[value];
      if (training && reads_input_value(graph, n)) input_needed[value] = true;
    }
    if (training && saves_output(leaf) && keeps_output(graph, n)) input_needed[n + 1] = true;
  }
  for (int v = 0; v <= graph.node_count; ++v)
    if (recomputed.read[v] && !recomputed.dropped[v]) input_needed[v] = true;
  bool held[std::size_t{Nodes + 1}]{};  // by root: read again, or by more than one: may not be overwritten in place
  int chunk = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    while (n >= layout.first_node[chunk + 1]) ++chunk;
    const Leaf& leaf = graph.leaf(n);
    const int in = graph.nodes[n].operands[0];
    const bool same_chunk = in > layout.first_node[chunk];  // made by a node of this chunk
    held[facts.root[in]] = held[facts.root[in]] || input_needed[in] || facts.consumers[in] > 1;
    const bool in_place = leaf.elementwise && !held[facts.root[in]] && !graph.converts_input(n) && keeps_output(graph, n);
    const bool shares = same_chunk && (leaf.reshapes || in_place) && graph.nodes[n].operand_count == 1;
    facts.root[n + 1] = shares ? facts.root[in] : n + 1;
  }
  for (int v = 0; v <= graph.node_count; ++v)
    if (input_needed[v] && !recomputed.dropped[v]) facts.framed[facts.root[v]] = true;
  each_cut_edge(graph, layout, [&](const CutEdge& edge) { facts.framed[facts.root[edge.value]] = true; });
  for (int n = 0; n < graph.node_count; ++n) facts.again[n] = recomputed.runs[n] && !facts.framed[facts.root[n + 1]];
  return facts;
}

/// True if a cut brackets the sum of some gradient in another way than one device does: a chunk between the producer and the last reader
/// of a value reads it more than once, so it sends a sum where one device adds term by term.
[[nodiscard]] constexpr bool regroups_a_gradient(const Graph& graph, const Layout& layout) {
  const Node* const nodes = graph.nodes;
  for (int c = 1; c + 1 < layout.chunk_count; ++c)
    for (int n = layout.first_node[c]; n < layout.first_node[c + 1]; ++n)
      for (int k = 0; k < nodes[n].operand_count; ++k) {
        const int value = nodes[n].operands[k];
        if (value == 0 || value > layout.first_node[c]) continue;  // no gradient, or made here
        int reads = 0;
        for (int m = layout.first_node[c]; m < layout.first_node[c + 1]; ++m)
          for (int j = 0; j < nodes[m].operand_count; ++j) reads += nodes[m].operands[j] == value ? 1 : 0;
        if (reads < 2) continue;
        for (int m = layout.first_node[c + 1]; m < graph.node_count; ++m)  // a leaf of one operand names it twice
          if (nodes[m].operands[0] == value || nodes[m].operands[1] == value) return true;
      }
  return false;
}

}  // namespace heddle::inline plan_room
