// SPDX-License-Identifier: MIT
// Room: graph. Layers that look rows of a table up read token ids: the input of the model, which no layer has computed. Ids and bytes lie whole.
// Sees: core, graph/graph.  Does not see: policies, devices, memory.
// In: a Graph.  Out: what a token id is; ok, or G18 with both layers, or G23.
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/type_rules.hpp"

namespace heddle::graph_room {

/// From 0 to vocabulary - 1.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool is_token(std::int32_t id, std::int64_t vocabulary) { return id >= 0 && id < vocabulary; }

/// The smallest vocabulary of the layers that look ids up; 0 if there is none.
[[nodiscard]] constexpr std::int64_t vocabulary_of(const Graph& graph) {
  std::int64_t least = 0;
  for (int n = 0; n < graph.node_count; ++n)
    if (const std::int64_t tokens = graph.leaf(n).vocabulary; tokens > 0 && (least == 0 || tokens < least)) least = tokens;
  return least;
}

/// The value that layers without arithmetic hand on as this one.
[[nodiscard]] constexpr int before_reshapes(const Graph& graph, int value) {
  while (value > 0 && graph.leaf(value - 1).reshapes && graph.nodes[value - 1].operand_count > 0) value = graph.nodes[value - 1].operands[0];
  return value;
}

/// The same of the layers that look ids of one input up.
[[nodiscard]] constexpr std::int64_t vocabulary_of(const Graph& graph, int input) {
  std::int64_t least = 0;
  for (int n = 0; n < graph.node_count; ++n)
    if (const std::int64_t tokens = graph.leaf(n).vocabulary; tokens > 0 && (least == 0 || tokens < least))
      if (graph.input_number(before_reshapes(graph, graph.nodes[n].operands[0])) == input) least = tokens;
  return least;
}

/// G18: what a layer computes is no token id, and no gradient goes through a lookup, so layers before it would never be trained. What one branch
/// looks up another one does not read as numbers.
/// Tested  graph/token_ids_test, fail/G18_lookup_of_computed_values
[[nodiscard]] constexpr Diagnosis check_token_ids(const Graph& graph) {
  const bool typed = graph.takes_whole_numbers();
  for (int n = 0; n < graph.node_count && typed; ++n)
    for (int k = 0; k < graph.nodes[n].operand_count; ++k)
      if (graph.spec(graph.nodes[n].operands[k]).type != graph.leaf(n).operand(k).type)
        return reads_no_numbers(Diagnosis{Code{'G', 18}, ""} << graph.describe(n).view(), graph.spec(graph.nodes[n].operands[k]).type);
  for (int n = 0; n < graph.node_count; ++n) {
    if (graph.leaf(n).vocabulary == 0) continue;
    if (const int made = before_reshapes(graph, graph.nodes[n].operands[0]); graph.input_number(made) < 0)
      return Diagnosis{Code{'G', 18}, ""} << graph.describe(n).view() << " looks token ids up, but it reads what " << graph.describe(made - 1).view()
                                          << " computes, through which no gradient could come back. Fix: let it read the input of the model.";
  }
  return {};
}

/// G23: what has no gradient is never laid another way than it is loaded. It lies whole on every rank of axis tensor.
/// Tested  graph/token_ids_test
[[nodiscard]] constexpr Diagnosis check_whole_inputs(const Graph& graph) {
  const bool typed = graph.takes_whole_numbers();
  for (int n = 0; n < graph.node_count && typed; ++n) {
    const Leaf& leaf = graph.leaf(n);
    if (leaf.operands == 0) continue;
    const ElementType type = graph.spec(graph.nodes[n].operands[0]).type;
    for (int i = 0; i < leaf.signature_count && !is_real(type); ++i) {
      const Signature& here = leaf.signatures[i];
      const Laid lies = here.input.replicated() && leaf.reshapes ? here.output : here.input;
      if (lies.replicated()) continue;
      return Diagnosis{Code{'G', 23}, ""} << graph.describe(n).view() << " reads " << name_of(type)
                                          << ", which lies whole on every rank, but signature " << i << " has it " << lies
                                          << ". Fix: let that signature take it as laid::replicate.";
    }
  }
  return {};
}

}  // namespace heddle::graph_room
