// SPDX-License-Identifier: MIT
// Room: plan. Which values share storage, which outlive their body, which cross between chunks, which are made again.
// Sees: graph, policy answers, plan/program, plan/lower/tables.  Does not see: processes, threads, instructions.
// In: Graph, Layout, what is to run again.  Out: ValueFacts, edges between chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Of all parameters of a node, each on lines of its own: 128 of Linear<4, 3>.
[[nodiscard]] constexpr std::int64_t parameter_bytes(const Graph& graph, int node) {
  std::int64_t sum = 0;
  for (int k = 0; k < graph.nodes[node].parameter_count; ++k)
    sum += rounded_up(float_bytes * graph.leaf(node).parameters[k].shape.elements(), line_bytes);
  return sum;
}

/// An edge between two chunks: a value and the chunk that takes it.
/// Where chunk 1 begins with node 1 and reads what node 0 of chunk 0 makes, it is {1, 0, 1}.
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

/// Edges between chunks: values that a later chunk takes, once for each that does.
[[nodiscard]] constexpr int count_edges(const Graph& graph, const Layout& layout) {
  int n = 0;
  each_cut_edge(graph, layout, [&](const CutEdge&) { ++n; });
  return n;
}

/// Nodes of one chunk that run again together, in their order, before the backward of one of them or of a reader of what they give.
/// Recompute<GELU> of Linear, GELU, Linear has one that begins at 1, ends at 2 and runs before the backward of node 2.
struct Segment {
  int begin = 0;
  int end = 0;
  int before = -1;  ///< node; -1: nobody reads what they give
  int next = 0;     ///< 1 + the next segment before the same node, 0 ends the list
};

/// What a plan runs again in its backward; nothing if it does not ask for it. A view over tables that have been written.
/// Recompute<GELU> of Linear, GELU, Linear drops value 2, which node 1 makes again.
struct Recomputed {
  const bool* dropped = nullptr;  ///< by value: not kept for the backward
  const bool* runs = nullptr;     ///< by node: makes a dropped value that is read again
  const bool* read = nullptr;     ///< by value: by a node that runs again
  const Segment* segments = nullptr;
  const int* first_before = nullptr;  ///< by node: 1 + the first segment that runs before its backward
  int segment_count = 0;
};

/// Owns which values run again, as a constant; each table has one entry a value, 4 for a model of 3 layers.
template <int Nodes> struct RecomputedTables {
  bool dropped[std::size_t{Nodes + 1}]{};
  bool runs[std::size_t{Nodes + 1}]{};
  bool read[std::size_t{Nodes + 1}]{};
  Segment segments[std::size_t{Nodes + 1}]{};
  int first_before[std::size_t{Nodes + 1}]{};
  int segment_count = 0;
  [[nodiscard]] constexpr Recomputed view() const { return {dropped, runs, read, segments, first_before, segment_count}; }
};

/// Facts about every value of one graph under one layout; value v is the output of node v - 1. A view over tables that have been written.
struct ValueFacts {
  const int* root = nullptr;     ///< values of one root share one storage (reshapes, in-place elementwise leaves)
  const bool* framed = nullptr;  ///< by root: read again in the backward, sent, or taken by another chunk
  const bool* again = nullptr;   ///< by node: run again in the backward, because what it gives is not kept
  const int* consumers = nullptr;

  [[nodiscard]] constexpr bool saved(int value) const { return framed[root[value]]; }
};

/// Owns the facts of values, as a constant; each table has one entry a value, 4 for a model of 3 layers.
template <int Nodes> struct ValueTables {
  int root[std::size_t{Nodes + 1}]{};
  bool framed[std::size_t{Nodes + 1}]{};
  bool again[std::size_t{Nodes + 1}]{};
  int consumers[std::size_t{Nodes + 1}]{};
  [[nodiscard]] constexpr ValueFacts view() const { return {root, framed, again, consumers}; }
  [[nodiscard]] constexpr bool saved(int value) const { return framed[root[value]]; }
};

/// What the node gives may lie where the value lies that it takes, if nothing else reads that again.
[[nodiscard]] constexpr bool may_take_place(const Graph& graph, int node) {
  const Leaf& leaf = graph.leaf(node);
  const bool as_it_lies = !graph.converts_input(node) && keeps_output(graph, node);
  return graph.nodes[node].operand_count == 1 && (leaf.reshapes || (leaf.elementwise && as_it_lies));
}

/// Finds the facts and writes them to tables of another owner, which have the initial values.
struct ValueStudy {
  const Graph& graph;
  const Layout& layout;
  bool training;  ///< false: nothing is read again, so only values that leave their chunk are framed
  Recomputed recomputed;
  int* root;
  bool* framed;
  bool* again;
  int* consumers;

  constexpr void run() {
    Tables<bool> tables;
    bool* const needed = tables.make<bool>(graph.node_count + 1);  // by value: read again
    find_readers(needed);
    share_places(needed, tables.make<bool>(graph.node_count + 1));
    for (int v = 0; v <= graph.node_count; ++v)
      if (needed[v] && !recomputed.dropped[v]) framed[root[v]] = true;
    each_cut_edge(graph, layout, [&](const CutEdge& edge) { framed[root[edge.value]] = true; });
    for (int n = 0; n < graph.node_count; ++n) again[n] = recomputed.runs[n] && !framed[root[n + 1]];
  }

 private:
  constexpr void find_readers(bool* needed) {
    for (int n = 0; n < graph.node_count; ++n) {
      for (int k = 0; k < graph.nodes[n].operand_count; ++k) {
        const int value = graph.nodes[n].operands[k];
        ++consumers[value];
        if (training && reads_input_value(graph, n)) needed[value] = true;
      }
      if (training && saves_output(graph, n) && keeps_output(graph, n)) needed[n + 1] = true;
    }
    for (int v = 0; v <= graph.node_count; ++v)
      if (recomputed.read[v] && !recomputed.dropped[v]) needed[v] = true;
  }
  /// `stays`, by root: read again, or by more than one, so it may not be overwritten in place.
  constexpr void share_places(const bool* needed, bool* stays) {
    int chunk = 0;
    for (int n = 0; n < graph.node_count; ++n) {
      while (n >= layout.first_node[chunk + 1]) ++chunk;
      root[n + 1] = n + 1;
      if (graph.nodes[n].operand_count == 0) continue;  // an input of the model
      const Leaf& leaf = graph.leaf(n);
      const int in = graph.nodes[n].operands[0];
      const bool same_chunk = in > layout.first_node[chunk];  // made by a node of this chunk
      stays[root[in]] = stays[root[in]] || needed[in] || consumers[in] > 1;
      const bool shares = same_chunk && may_take_place(graph, n) && (leaf.reshapes || !stays[root[in]]);
      if (shares) root[n + 1] = root[in];
    }
  }
};

template <int Nodes>
[[nodiscard]] constexpr ValueTables<Nodes> study_values(const Graph& graph, const Layout& layout, bool training,
                                                        const RecomputedTables<Nodes>& recomputed = {}) {
  ValueTables<Nodes> out;
  ValueStudy{graph, layout, training, recomputed.view(), out.root, out.framed, out.again, out.consumers}.run();
  return out;
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
          if (nodes[m].operand_count > 0 && (nodes[m].operands[0] == value || nodes[m].operands[1] == value)) return true;
      }
  return false;
}

}  // namespace heddle::plan_room
