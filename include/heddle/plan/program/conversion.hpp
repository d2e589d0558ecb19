// SPDX-License-Identifier: MIT
// Room: plan. What lies between layers and what a leaf takes: which conversion leads from one to the other, and what a backward reads.
// Sees: graph, plan/program.  Does not see: lowering, checks, processes, threads.
// In: a Graph, a node, two ways to lie.  Out: the entry that converts, and whether a form of a value is kept.
#pragma once

#include <cstdint>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What a body runs of its layers.
enum class BodyKind : std::uint8_t { forward, backward, input, weight };

/// A sum in place, a sum of which each rank keeps its part, a part that becomes whole, a whole that is cut.
[[nodiscard]] constexpr BodyOp conversion(Laid from, Laid to) {
  if (from.partial()) return to.sharded() ? BodyOp::scatter_value : BodyOp::reduce_value;
  return from.sharded() ? BodyOp::gather_value : BodyOp::slice_value;
}

[[nodiscard]] constexpr bool travels(Laid from, Laid to) { return conversion(from, to) != BodyOp::slice_value; }

/// A term on each rank becomes the sum where it lies.
[[nodiscard]] constexpr bool sums_in_place(Laid from, Laid to) { return from.partial() && to.replicated(); }

[[nodiscard]] constexpr bool converts(BodyOp what) { return what >= BodyOp::reduce_value && what <= BodyOp::slice_value; }

/// The backward of a leaf, or the part of it that gives the gradient of the input.
[[nodiscard]] constexpr bool passes_back(BodyOp what) { return what == BodyOp::leaf_backward || what == BodyOp::leaf_backward_input; }

[[nodiscard]] constexpr bool saves_input(const Leaf& leaf) { return leaf.saves == Saves::input || leaf.saves == Saves::both; }
[[nodiscard]] constexpr bool saves_output(const Leaf& leaf) { return leaf.saves == Saves::output || leaf.saves == Saves::both; }

/// The backward of a node reads what its leaf saves. Before the first trained layer there is none; that of a frozen leaf makes the gradient of the
/// input alone, for which not every leaf needs it. A Linear in front saves its input, a frozen one nothing.
[[nodiscard]] constexpr bool reads_saved(const Graph& graph, int node) {
  return graph.runs_backward(node) && (!graph.frozen(node) || graph.leaf(node).input_part_reads_saved);
}
[[nodiscard]] constexpr bool saves_input(const Graph& graph, int node) { return saves_input(graph.leaf(node)) && reads_saved(graph, node); }
[[nodiscard]] constexpr bool saves_output(const Graph& graph, int node) { return saves_output(graph.leaf(node)) && reads_saved(graph, node); }
/// Elements of a row that the forward leaves for the backward beside values.
[[nodiscard]] constexpr std::int64_t saved_statistics(const Graph& graph, int node) {
  const std::int64_t left = graph.leaf(node).statistics_elements();
  return left > 0 && (reads_saved(graph, node) || (graph.leaf(node).forward_phases.any() && graph.runs_phases(node))) ? left : 0;
}

/// From what one grain tells between two phases of a leaf to what the next one does: whole lines. [bytes]
[[nodiscard]] constexpr std::int64_t told_bytes(std::int64_t floats) { return rounded_up(floats * float_bytes, line_bytes); }
/// Where what is told after phase `phase` begins, counted from 1, behind what was told before it: 3 floats of 2 grains take 128 bytes. [bytes]
[[nodiscard]] constexpr std::int64_t told_begin(const Phases& phases, int phase, int grains) {
  std::int64_t bytes = 0;
  for (int k = 1; k < phase; ++k) bytes += told_bytes(phases.sums[k - 1]) * grains;
  return bytes;
}
[[nodiscard]] constexpr std::int64_t told_in_all(const Phases& phases, int grains) { return told_begin(phases, phases.count(), grains); }

/// Each rank has a part of what the leaf takes whole: it is gathered for the forward. The parts are kept, not the whole.
[[nodiscard]] constexpr bool gathers_input(const Graph& graph, int node) {
  return graph.converts_input(node) && graph.laid_between(graph.nodes[node].operands[0]).sharded();
}
/// The backward reads the value where it lies, and not a form of it that is kept beside.
[[nodiscard]] constexpr bool reads_input_value(const Graph& graph, int node) {
  return saves_input(graph, node) && (!graph.converts_input(node) || gathers_input(graph, node));
}
/// So a backward, or the part of one, that reads it gathers it again.
[[nodiscard]] constexpr bool gathers_again(const Graph& graph, int node, BodyOp backward) {
  const Leaf& leaf = graph.leaf(node);
  return gathers_input(graph, node) && saves_input(graph, node) && (backward != BodyOp::leaf_backward_input || leaf.input_part_reads_saved);
}

/// What the leaf gives is what lies between layers, at most summed in place.
[[nodiscard]] constexpr bool keeps_output(const Graph& graph, int node) {
  return graph.split.ranks == 1 || !graph.converts_output(node) ||
         (graph.signature(node).output.partial() && graph.laid_between(node + 1).replicated());
}

}  // namespace heddle::plan_room
