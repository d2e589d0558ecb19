// SPDX-License-Identifier: MIT
// Room: plan. Recompute: which layers it names, which values are then not kept, and when what makes them runs again.
// Sees: graph, policy answers, plan/options, plan/lower/values.  Does not see: memory, instructions, processes, threads.
// In: Recompute<...>, Graph, Layout.  Out: ChosenLayers, Recomputed, or L05.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "heddle/core/lists.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/plan/lower/values.hpp"
#include "heddle/plan/options/options.hpp"

namespace heddle::plan_room {

/// What Recompute names in a graph: a view, of `any` false without leaves.
struct ChosenLeaves {
  const bool* leaf = nullptr;  ///< by leaf
  bool blocks = false;
  bool any = false;
};

/// What Recompute names, by leaf of the graph.
template <int Leaves> struct LeafChoice {
  bool leaf[std::size_t{Leaves > 0 ? Leaves : 1}]{};
  bool blocks = false;
  bool any = false;  ///< something is named
  Diagnosis fault;
  [[nodiscard]] constexpr ChosenLeaves view() const { return {leaf, blocks, any}; }
};

/// True if one of the words between the dots of a path is `label`. A loop: std::string_view::find asks whether an address of a template's member
/// is null, which g++ 12 under sanitizers takes for no constant.
[[nodiscard]] constexpr bool has_label(std::string_view path, std::string_view label) {
  std::size_t begin = 0;
  for (std::size_t end = 0; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '.') continue;
    if (path.substr(begin, end - begin) == label) return !label.empty();
    begin = end + 1;
  }
  return false;
}

/// Adds up what each part of Recompute names.
template <int Leaves> struct ChoiceReader {
  const Graph& graph;
  LeafChoice<Leaves> out{};

  constexpr Diagnosis refuse() const { return Diagnosis{Code{'L', 5}, ""} << graph.model.view(); }
  template <class What> constexpr void read(std::type_identity<What>) {
    bool found = false;
    if constexpr (std::is_same_v<What, EveryBlock>) {
      for (int n = 0; n < graph.node_count; ++n) found = found || graph.nodes[n].block >= 0;
      out.blocks = found;
      if (!found && out.fault.ok())
        out.fault = refuse() << " has no Repeat and no OneUnit, so it has no blocks to run again. Fix: name layers, as in Recompute<GELU>.";
    } else {
      for (int l = 0; l < Leaves; ++l)
        if (graph.leaves[l].type == type_id<What>()) out.leaf[l] = found = true;
      if (!found && out.fault.ok())
        out.fault = refuse() << " has no layer " << type_name<What>().view() << " to run again. Fix: name one that it has, such as "
                             << graph.leaves[0].leaf.spelled.view() << '.';
    }
    out.any = out.any || found;
  }
  template <Name... Labels> constexpr void read(std::type_identity<Only<Labels...>>) { sum_of({(name(Labels.view()), 0)...}); }
  constexpr void name(std::string_view label) {
    bool found = false;
    for (int l = 0; l < Leaves; ++l)
      if (has_label(graph.leaves[l].path.view(), label)) out.leaf[l] = found = true;
    if (!found && out.fault.ok()) {
      out.fault = refuse() << " has no layer named '" << label << "' to run again. Fix: ";
      if (const std::string_view path = path_with_a_name(); path.empty())
        out.fault << "name layers by their type, as in Recompute<GELU>.";
      else
        out.fault << "use a word of a path such as '" << path << "'.";
    }
    out.any = out.any || found;
  }
  [[nodiscard]] constexpr std::string_view path_with_a_name() const {
    for (int l = 0; l < Leaves; ++l)
      for (const char c : graph.leaves[l].path.view())
        if (c > '9') return graph.leaves[l].path.view();  // a position has digits, dots and stars
    return {};
  }
};

/// What the option of a plan names in its model; void names nothing.
///
/// Errors  L05 if it names nothing at all, or what the model does not have
/// Tested  plan/lower/recompute_test, fail/L05_no_blocks, fail/L05_layer_not_there, fail/L05_name_not_there, fail/L05_nothing_named
template <class Option, class Model> struct ChosenLayers { static constexpr LeafChoice<0> value{}; };
template <class... What, class Model> struct ChosenLayers<Recompute<What...>, Model> {
  static constexpr auto value = [] {
    ChoiceReader<graph_of<Model>.leaf_count> reader{graph_of<Model>};
    sum_of({(reader.read(std::type_identity<What>{}), 0)...});
    if (!reader.out.any && reader.out.fault.ok())
      reader.out.fault = Diagnosis{Code{'L', 5}, ""}
                         << "Recompute names no layer. Fix: write Recompute<EveryBlock>, or name layers as in Recompute<GELU>.";
    return reader.out;
  }();
};

/// What is found, in tables of another owner that have their initial values; as in Recomputed.
/// A model of 3 layers has 4 entries in each table.
struct RecomputedOut {
  bool* dropped;
  bool* runs;
  bool* read;
  Segment* segments;
  int* first_before;
  int segment_count = 0;
  [[nodiscard]] constexpr Recomputed view() const { return {dropped, runs, read, segments, first_before, segment_count}; }
};

/// Finds what is dropped and what runs again. A value is kept if it leaves its chunk, if a layer of another segment reads it while it runs again, or
/// if it takes parameters to make it and a layer of another unit reads it: those are gathered unit by unit. So a block keeps what it gives.
struct RecomputeStudy {
  const Graph& graph;
  const Layout& layout;
  ChosenLeaves choice;
  RecomputedOut out;
  Tables<int, bool> tables;
  int* segment_of = tables.make<int>(graph.node_count + 1);        // by node: 1 + its segment, 0 outside
  bool* has_parameters = tables.make<bool>(graph.node_count + 1);  // by segment
  bool* kept = tables.make<bool>(graph.node_count + 1);            // by value
  bool* needed = tables.make<bool>(graph.node_count + 1);          // by value: read in the backward, or by what runs again for it

  constexpr RecomputeStudy(const Graph& whole, const Layout& answers, const ChosenLeaves& leaves, const RecomputedOut& tables_out)
      : graph(whole), layout(answers), choice(leaves), out(tables_out) {}

  constexpr void run() {
    if (!choice.any) return;
    cut_segments();
    each_cut_edge(graph, layout, [&](const CutEdge& edge) { kept[edge.value] = true; });
    for (int n = graph.node_count - 1; n >= 0; --n) decide(n);
    for (int n = 0; n < graph.node_count; ++n) set_time(n);
    for (int s = out.segment_count; s > 0; --s) {  // in their order before one node
      Segment& segment = out.segments[s - 1];
      if (segment.before < 0) continue;
      segment.next = out.first_before[segment.before];
      out.first_before[segment.before] = s;
    }
  }

 private:
  [[nodiscard]] constexpr bool chosen(int node) const {
    return (choice.blocks && graph.nodes[node].block >= 0) || choice.leaf[graph.nodes[node].leaf];
  }

  constexpr void cut_segments() {
    int chunk = 0;
    for (int n = 0; n < graph.node_count; ++n) {
      bool joins = n > 0 && segment_of[n - 1] > 0 && graph.nodes[n].block == graph.nodes[n - 1].block;
      for (; n >= layout.first_node[chunk + 1]; ++chunk) joins = false;
      if (!chosen(n)) continue;
      const bool weighs = graph.nodes[n].parameter_count > 0;
      if (joins && weighs && graph.nodes[n].block < 0 && has_parameters[out.segment_count - 1]) joins = false;
      if (!joins) out.segments[out.segment_count++].begin = n;
      const int s = out.segment_count - 1;
      out.segments[s].end = n + 1;
      has_parameters[s] = has_parameters[s] || weighs;
      segment_of[n] = s + 1;
    }
  }
  /// A reader outside of the segment: it may be served by running the segment before its backward.
  [[nodiscard]] constexpr bool serves(int node, int reader) const {
    if (!has_parameters[segment_of[node] - 1]) return true;
    return graph.nodes[node].block >= 0 && graph.nodes[node].block == graph.nodes[reader].block;
  }
  template <class Visit> constexpr void each_read_in_backward(int node, Visit visit) const {
    for (int k = 0; k < graph.nodes[node].operand_count; ++k)
      if (reads_input_value(graph, node)) visit(graph.nodes[node].operands[k]);
    if (saves_output(graph, node) && keeps_output(graph, node)) visit(node + 1);
  }
  /// From the last node to the first, so that all readers of what a node gives are decided before it.
  constexpr void decide(int node) {
    const int value = node + 1;
    each_read_in_backward(node, [&](int v) {
      needed[v] = true;
      if (v > 0 && segment_of[v - 1] > 0 && segment_of[v - 1] != segment_of[node] && !serves(v - 1, node)) kept[v] = true;
    });
    out.dropped[value] = segment_of[node] > 0 && !kept[value];
    out.runs[node] = out.dropped[value] && needed[value];
    const bool stays = kept[value] || (needed[value] && !out.dropped[value]);
    if (graph.leaf(node).reshapes && graph.nodes[node].operand_count > 0 && stays) kept[graph.nodes[node].operands[0]] = true;  // the same storage
    for (int k = 0; k < graph.nodes[node].operand_count && out.runs[node]; ++k) {
      const int v = graph.nodes[node].operands[k];
      needed[v] = out.read[v] = true;
      if (v > 0 && segment_of[v - 1] != segment_of[node]) kept[v] = true;
    }
  }
  /// A segment runs before the first backward that reads something of it.
  constexpr void set_time(int node) {
    const auto wait_for = [&](int segment) {
      if (out.segments[segment - 1].before < node) out.segments[segment - 1].before = node;
    };
    each_read_in_backward(node, [&](int v) {
      if (v > 0 && out.runs[v - 1]) wait_for(segment_of[v - 1]);
    });
    if (out.runs[node]) wait_for(segment_of[node]);
  }
};

template <int Nodes>
[[nodiscard]] constexpr RecomputedTables<Nodes> study_recomputation(const Graph& graph, const Layout& layout, const ChosenLeaves& choice) {
  RecomputedTables<Nodes> out;
  RecomputeStudy study{graph, layout, choice, RecomputedOut{out.dropped, out.runs, out.read, out.segments, out.first_before}};
  study.run();
  out.segment_count = study.out.segment_count;
  return out;
}

/// Of one sample and rank, in all backwards: what a plan with Recompute computes more than one without, at most its forward. Read off the Program.
///
/// Source  sources.md#activation-checkpointing
/// Tested  plan/lower/recompute_test, oracle/recompute_test
[[nodiscard]] constexpr Flops flops_run_again(const Program& p) {
  Flops sum;
  for (int c = 0; p.training && c < p.chunks; ++c)
    for (int e = p.backward_bodies[c].begin; e < p.backward_bodies[c].end; ++e) {
      const Entry& entry = p.entries[e];
      const bool runs = entry.what == BodyOp::leaf_forward || (entry.what == BodyOp::add && entry.node >= 0);  // sums of gradients have no node
      if (runs) sum.value += p.graph->leaf(entry.node).forward_flops;
    }
  return sum;
}

}  // namespace heddle::plan_room

namespace heddle::extending {
using plan_room::flops_run_again;
}  // namespace heddle::extending
