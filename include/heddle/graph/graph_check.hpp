// SPDX-License-Identifier: MIT
// Room: graph. What a graph must be that no model made: nodes in order, leaves and values that are there, parameters counted one after another.
// Sees: graph/graph, graph/leaf_rules.  Does not see: policies, devices, memory.
// In: a Graph that is data.  Out: ok, or G27, or the code of a leaf.
#pragma once

#include <cstddef>

#include "heddle/core/rule.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/inputs.hpp"
#include "heddle/graph/kept_values.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/graph/token_ids.hpp"

namespace heddle::graph_room {

/// What was set by hand is read as far as it was written.
template <int Capacity> [[nodiscard]] constexpr bool is_text(const Text<Capacity>& text) { return text.length >= 0 && text.length <= Capacity; }

/// How many ranks hold a tensor is said by a dimension, or by Replicate or Partial.
[[nodiscard]] constexpr bool lies_somehow(Laid how) { return how.code >= laid::partial.code && how.dimension() < Shape::most_dimensions; }

[[nodiscard]] constexpr Diagnosis broken_graph() { return Diagnosis{Code{'G', 27}, ""}; }

/// Floats are all of the type that the graph keeps values in.
[[nodiscard]] constexpr bool has_type(const Graph& graph, const Spec& spec) {
  if (spec.shape.dimensions == 0) return spec.type <= ElementType::uint8;
  return is_real(spec.type) ? spec.type == graph.values : spec.type <= ElementType::uint8;
}

/// What refuses a leaf as its description says it, in float32.
[[nodiscard]] constexpr Diagnosis check_as_described(Leaf leaf) {
  keep_values(leaf, ElementType::bfloat16, ElementType::float32);
  return check_leaf(leaf, leaf.in);
}

/// G27 of the texts, shapes and placements of a leaf; the rest is that of every description (leaf_rules).
[[nodiscard]] constexpr Diagnosis check_traced(const Graph& graph, const TracedLeaf& traced, int number) {
  const Leaf& leaf = traced.leaf;
  bool texts = is_text(traced.path) && is_text(leaf.kind) && is_text(leaf.spelled) && is_text(leaf.fault.words);
  for (const Parameter& p : leaf.parameters) texts = texts && is_text(p.name);
  if (!texts) return broken_graph() << "kind " << number << " of layers has a text longer than its room. Fix: write texts with <<.";
  if (leaf.saves > Saves::both || !has_type(graph, leaf.in) || !has_type(graph, leaf.other) || !has_type(graph, leaf.out))
    return broken_graph() << "kind " << number << " of layers, " << leaf.spelled.view()
                          << ", has a type of elements or of what is saved that is none. Fix: name one of ElementType, and one of Saves.";
  if (const Diagnosis found = check_counts(leaf); !found.ok()) return found;
  for (int s = 0; s < leaf.signature_count; ++s) {
    const Signature& here = leaf.signatures[s];
    bool lies = lies_somehow(here.input) && lies_somehow(here.output) && lies_somehow(here.input_gradient) && lies_somehow(here.output_gradient);
    lies = lies && (here.second == laid::as_first || lies_somehow(here.second));
    for (int p = 0; p < Signature::most_parameters; ++p) lies = lies && lies_somehow(here.parameters[p]) && lies_somehow(here.parameter_gradients[p]);
    if (!lies)
      return broken_graph() << "signature " << s << " of " << leaf.spelled.view()
                            << " lays a tensor in a way that is none. Fix: write laid::replicate, laid::partial or laid::shard(dimension).";
  }
  if (const Diagnosis found = check_shape(leaf, " takes", "", leaf.in.shape); !found.ok()) return found;
  if (const Diagnosis found = leaf.source != 0 ? check_source(graph, leaf, number) : check_as_described(leaf); !found.ok()) return found;
  int stars = 0;
  for (const char c : traced.path.view()) stars += c == '*' ? 1 : 0;
  if (stars <= Node::most_nested_repeats) return {};
  return broken_graph() << "the path '" << quoted(traced.path.view()).view() << "' has " << stars << " stars, but at most "
                        << Node::most_nested_repeats << " numbers of repetitions are kept. Fix: write numbers in it.";
}

/// G27: what a node names is there, and made before it.
[[nodiscard]] constexpr Diagnosis check_node(const Graph& graph, int number) {
  const Node& node = graph.nodes[number];
  const auto broken = [&] { return broken_graph() << "layer " << number; };
  if (node.leaf < 0 || node.leaf >= graph.leaf_count)
    return broken() << " is of kind " << node.leaf << ", but the graph has " << graph.leaf_count << " kinds of layers. Fix: count them from 0.";
  const TracedLeaf& traced = graph.leaves[node.leaf];
  const int operands = traced.leaf.operands;
  if (node.operand_count != operands)
    return broken() << " takes " << node.operand_count << " values, but " << traced.leaf.spelled.view() << " takes " << operands << ". Fix: name "
                    << (operands == 2 ? "both." : "one.");
  for (int k = 0; k < operands; ++k) {
    const int value = node.operands[k];
    if (value < 0 || value > number)
      return broken() << " takes value " << value << ", but only values 0 to " << number << " are made before it. Fix: name one of them.";
    if (!(graph.spec(value) == traced.leaf.operand(k)))
      return broken() << " takes " << traced.leaf.operand(k).shape << ", but value " << value << " has " << graph.spec(value).shape
                      << " or other elements. Fix: describe the layer for the value that it takes.";
  }
  for (const int time : node.repetition)
    if (time < 0) return broken() << " stands in repetition " << time << ". Fix: count repetitions from 0.";
  return {};
}

/// G27: what trained parameters have a part in has a gradient, and what is no float has none.
[[nodiscard]] constexpr Diagnosis check_needs(const Graph& graph) {
  const int untrained = graph.last_untrained();
  for (int n = 0; n < graph.node_count; ++n) {
    const Node& node = graph.nodes[n];
    bool trained = n <= untrained || node.trained_count() > 0;
    for (int k = 0; k < node.operand_count; ++k) trained = trained || graph.needs_gradient(node.operands[k], untrained);
    const bool has_none = n > untrained && !is_real(graph.spec(n + 1).type);
    if (node.needs_gradient ? !has_none : !trained) continue;
    return broken_graph() << "layer " << n << " says that what it gives "
                          << (has_none ? "needs a gradient, but it is no float32" : "needs no gradient, but a trained parameter has a part in it")
                          << ". Fix: take what find_gradients(nodes, count) sets.";
  }
  return {};
}

/// G27: parameters are numbered in the order of nodes, also those that a node shares with another.
[[nodiscard]] constexpr Diagnosis check_parameters(const Graph& graph) {
  int parameters = 0;
  int ties = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    const Node& node = graph.nodes[n];
    const auto broken = [&] { return broken_graph() << "layer " << n; };
    const int has = graph.leaf(n).parameter_count;
    if (node.parameter_count != has || (has > 0 && node.first_parameter != parameters))
      return broken() << " has " << node.parameter_count << " parameters from number " << node.first_parameter << " on, but its description has "
                      << has << ", and layers before it " << parameters << ". Fix: number parameters in the order of layers.";
    if (node.frozen_count != has && node.frozen_count != 0)
      return broken() << " freezes " << node.frozen_count << " of its " << has << " parameters. Fix: freeze all of them, or none.";
    parameters += has;
    if (node.tied_to == -1) continue;
    ++ties;
    if (node.tied_to < 0 || node.tied_to >= n || graph.nodes[node.tied_to].tied_to != -1)
      return broken() << " uses the parameters of layer " << node.tied_to
                      << ", which does not stand before it or has none of its own. Fix: name the layer that owns them, or -1.";
    if (has == 0 || !same_parameters(graph.leaf(n), graph.leaf(node.tied_to)))
      return broken() << " uses the parameters of layer " << node.tied_to
                      << ", but both do not have the same. Fix: tie layers whose parameters have equal shapes.";
    if (graph.leaf(n).tracks() || graph.leaf(node.tied_to).tracks())
      return broken() << " and layer " << node.tied_to << " share parameters, but one tracks what its own rows have. Fix: give each its own.";
    if (node.block >= 0 || graph.nodes[node.tied_to].block >= 0)
      return broken() << " and layer " << node.tied_to << " share parameters, but one is inside a block. Fix: tie layers outside of blocks.";
    if (graph.frozen(n) != graph.frozen(node.tied_to))
      return broken() << " and layer " << node.tied_to << " share parameters, but only one is frozen. Fix: train both, or freeze both.";
  }
  if (const Diagnosis found = check_needs(graph); !found.ok()) return found;
  if (const int first = first_backward_of(graph); graph.first_backward != first)
    return broken_graph() << "a graph says that the first backward is that of layer " << graph.first_backward
                          << ", but with its trained layers it is " << first << ". Fix: take what first_backward_of(graph) gives.";
  if (parameters == graph.parameter_count && ties == graph.tie_count) return {};
  return broken_graph() << "a graph counts " << graph.parameter_count << " parameters and " << graph.tie_count << " tied layers, but its layers have "
                        << parameters << " and " << ties << ". Fix: count them.";
}

/// G27: what a layer gives is read by a later one, but for the last. Parameters before a value that nobody reads would have no gradient.
[[nodiscard]] constexpr Diagnosis check_readers(const Graph& graph) {
  const auto values = static_cast<std::size_t>(graph.node_count);
  auto* const read = new bool[values]();
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].operand_count; ++k) read[graph.nodes[n].operands[k]] = true;
  int value = graph.input_count > 1 ? 1 : 0;  // of several inputs check_inputs_taken asks
  while (value < graph.node_count && read[value]) ++value;
  delete[] read;
  if (value == graph.node_count) return {};
  return broken_graph() << "value " << value << " of " << graph.node_count
                        << " is read by no layer. Fix: let a later layer take it; the last value is the output.";
}

/// A graph of any origin is what the lowering may walk. The counts are trusted: leaves and nodes are views of that many.
///
/// Errors  G27 what no model could be; of a leaf the code of its description (leaf_rules); G18
/// Tested  graph/graph_check_test, faults/requests_test
[[nodiscard]] constexpr Diagnosis check_graph(const Graph& graph) {
  if (!graph.fault.ok()) return graph.fault;
  if (!is_text(graph.model)) return broken_graph() << "the name of the model is longer than its room. Fix: write it with <<.";
  if (graph.node_count < 1 || graph.leaf_count < 1 || graph.leaves == nullptr || graph.nodes == nullptr)
    return broken_graph() << "a graph of " << graph.node_count << " layers of " << graph.leaf_count
                          << " kinds computes nothing, or shows none of them. Fix: let leaves and nodes be views of at least one.";
  if (graph.split.any() || graph.split.ranks != 1)
    return broken_graph() << "a graph is given as one of " << graph.split.ranks
                          << " ranks sees it. Fix: give the whole graph; the lowering splits it as the layout says.";
  if (graph.input_count < 1 || graph.input_count > Graph::most_inputs)
    return broken_graph() << "a graph has " << graph.input_count << " inputs. Fix: give it 1 to " << Graph::most_inputs << '.';
  for (int i = 0; i < graph.input_count; ++i)
    if (const Spec& input = graph.input_of(i); !has_type(graph, input) || !input.shape.sound() || input.elements() > most_elements)
      return broken_graph() << "the input of the graph is " << input.shape << ", which is no sample. Fix: give it sizes from 1 to " << most_elements
                            << '.';
  for (int l = 0; l < graph.leaf_count; ++l)
    if (const Diagnosis found = check_traced(graph, graph.leaves[l], l); !found.ok()) return found;
  for (int n = 0; n < graph.node_count; ++n)
    if (const Diagnosis found = check_node(graph, n); !found.ok()) return found;
  if (const Diagnosis found = check_parameters(graph); !found.ok()) return found;
  if (const Diagnosis found = check_readers(graph); !found.ok()) return found;
  if (graph.input_count > 1)
    if (const Diagnosis found = check_inputs_taken(graph); !found.ok()) return found;
  return check_token_ids(graph);
}

}  // namespace heddle::graph_room
