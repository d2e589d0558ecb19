// SPDX-License-Identifier: MIT
// Room: plan. How many bytes a body holds of each value and beside it, for those who write bodies and for the account of stages.
// Sees: graph, plan/program.  Does not see: processes, threads, instructions.
// In: Graph as one rank sees it, BatchDivision.  Out: HeldBytes.
#pragma once

#include <cstdint>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Of one micro-batch. Of 2 grains of 3 rows 5 features take 128 bytes: 15 floats fill one line of 64 in each grain.
///
/// Tested  plan/lower/held_test, plan/lower/stage_memory_test
struct HeldBytes {
  const Graph& graph;
  const BatchDivision& batch;

  [[nodiscard]] constexpr std::int64_t of(std::int64_t features, ElementType type = ElementType::float32) const {
    return grain_bytes(batch.grain_rows, features, type) * batch.grains();
  }
  [[nodiscard]] constexpr std::int64_t of(const Spec& value) const { return of(value.elements(), value.type); }
  /// Of the room in which the parts of a value stand one after another while it travels.
  [[nodiscard]] constexpr std::int64_t parts(std::int64_t whole_features, ElementType type) const {
    return graph.split.ranks * of(whole_features / graph.split.ranks, type);
  }
  [[nodiscard]] constexpr std::int64_t value(int v) const { return of(graph.spec(v)); }

  /// The backward of a leaf reads its input, or its output, in a form that lies beside the value.
  [[nodiscard]] constexpr bool has_taken(int node) const {
    return graph.converts_input(node) && saves_input(graph, node) && !reads_input_value(graph, node);
  }
  [[nodiscard]] constexpr bool has_given(int node) const { return !keeps_output(graph, node) && saves_output(graph, node); }
  [[nodiscard]] constexpr std::int64_t taken(int node) const { return of(graph.leaf(node).in); }
  [[nodiscard]] constexpr std::int64_t given(int node) const { return of(graph.leaf(node).out); }
  [[nodiscard]] constexpr std::int64_t statistics(int node) const { return of(saved_statistics(graph, node)); }
  /// What is told between the phases of a node, where it has some: that of a forward, or of a backward, which do not live together.
  [[nodiscard]] constexpr std::int64_t told(int node) const {
    if (!graph.runs_phases(node)) return 0;
    const std::int64_t on = told_in_all(graph.leaf(node).forward_phases, batch.grains());
    const std::int64_t back = told_in_all(graph.leaf(node).backward_phases, batch.grains());
    return on > back ? on : back;
  }
  /// Of a node that runs again: what phases have left is kept all the same, so that no rank is asked again.
  [[nodiscard]] constexpr std::int64_t kept_of_phases(int node) const {
    return graph.leaf(node).forward_phases.any() && graph.runs_phases(node) ? statistics(node) : 0;
  }
  /// All that the backward of a node reads beside values.
  [[nodiscard]] constexpr std::int64_t beside(int node) const {
    return (has_taken(node) ? taken(node) : 0) + (has_given(node) ? given(node) : 0) + statistics(node);
  }

  /// What a leaf takes and gives, as one device has it.
  [[nodiscard]] constexpr Shape whole_input(int node) const {
    return joined(graph.leaf(node).in.shape, graph.signature(node).input, graph.split.ranks);
  }
  [[nodiscard]] constexpr Shape whole_output(int node) const {
    return joined(graph.leaf(node).out.shape, graph.signature(node).output, graph.split.ranks);
  }
  /// Of the room for parts, where a value that lies one way is laid another way.
  [[nodiscard]] constexpr std::int64_t on_the_way(const Shape& whole, Laid from, Laid to) const {
    return from.code != to.code && travels(from, to) ? parts(whole.elements(), graph.values) : 0;
  }
  /// Of the gradient of an output, where the leaf takes it in another way than the value lies.
  [[nodiscard]] constexpr std::int64_t laid_gradient(int node) const {
    if (!graph.split.any()) return 0;
    const Laid from = graph.gradient_between(node + 1), to = graph.signature(node).output_gradient;
    return from.code == to.code || sums_in_place(from, to) ? 0 : given(node);
  }
  /// The most that one node lays aside, with its own values: of these `of_taken` and `of_given` bytes lie in scratch. A forward takes its input and
  /// lays its output in another way, a backward the gradients, and what it reads again.
  [[nodiscard]] constexpr std::int64_t most_of_node(int node, std::int64_t of_taken, std::int64_t of_given) const {
    if (!graph.split.any() || graph.nodes[node].operand_count == 0) return of_taken + of_given + told(node);
    const Signature& how = graph.signature(node);
    const Laid before = graph.laid_between(graph.nodes[node].operands[0]), behind = graph.laid_between(node + 1);
    const Laid handed = graph.gradient_between(graph.nodes[node].operands[0]), back = graph.gradient_between(node + 1);
    const Shape in = whole_input(node), out = whole_output(node);
    const bool keeps = keeps_output(graph, node);
    const std::int64_t input = graph.converts_input(node) ? taken(node) : 0, output = keeps ? 0 : given(node);
    const std::int64_t gathered = gathers_input(graph, node) && saves_input(graph, node) ? taken(node) : 0;
    const std::int64_t to_take = input > 0 ? on_the_way(in, before, how.input) : 0;
    const std::int64_t to_lay = keeps ? 0 : on_the_way(out, how.output, behind);
    const std::int64_t of_output = laid_gradient(node), own = of_output > 0 ? of_output : of_given;
    const bool differs = how.input_gradient.code != handed.code && !sums_in_place(how.input_gradient, handed);
    const std::int64_t of_input = differs ? taken(node) : 0;
    const std::int64_t all[] = {of_taken + of_given + input + to_take,
                                of_taken + of_given + input + output,
                                of_taken + of_given + output + to_lay,
                                of_given + of_output + (of_output > 0 ? on_the_way(out, back, how.output_gradient) : 0),
                                own + gathered + (gathered > 0 ? to_take : 0),
                                own + gathered + of_taken + of_input,
                                own + of_taken + of_input + (differs ? on_the_way(in, how.input_gradient, handed) : 0)};
    std::int64_t most = 0;
    for (const std::int64_t each : all)
      if (each > most) most = each;
    return most + told(node);
  }
};

}  // namespace heddle::plan_room
