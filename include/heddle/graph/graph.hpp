// SPDX-License-Identifier: MIT
// Room: graph. The layer graph as a constexpr value: leaves described once, nodes in order, edges, parameters with names.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: what the tracer recorded.  Out: Graph, a view that every later phase walks with ordinary loops.
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// A leaf where it stands in the model: described once even if a Repeat runs it many times.
struct TracedLeaf {
  Leaf leaf;
  Text<80> path;  ///< state_dict prefix; '*' stands for the number of a repetition: "blocks.*.linear1"
  TypeId type = TypeId::none;
  friend constexpr bool operator==(const TracedLeaf&, const TracedLeaf&) = default;
};

/// One execution of a leaf. Value v is the output of node v - 1; value 0 is the input of the model.
struct Node {
  static constexpr int most_nested_repeats = 3;
  int leaf = 0;
  int operands[2]{};
  int operand_count = 1;  ///< Leaf::operands of its leaf
  int repetition[most_nested_repeats]{};
  int block = -1;  ///< block of the outermost Repeat or OneUnit that it belongs to, -1 outside
  int first_parameter = 0;
  int parameter_count = 0;
  int frozen_count = 0;  ///< of these, not trained: all of them or none
  int tied_to = -1;      ///< node whose parameters it uses, -1: its own
  /// False behind the first trained layer, if no trained parameter has a part in what the node gives; values before that layer are known by their
  /// numbers (Graph::first_backward).
  bool needs_gradient = true;
  [[nodiscard]] constexpr int trained_count() const { return parameter_count - frozen_count; }
  friend constexpr bool operator==(const Node&, const Node&) = default;
};

/// How the ranks of one axis share a graph: a view that each rank has of its part.
/// Of Linear<8, 6> split by columns over 2 ranks each rank runs 3 of the 6 outputs.
struct GraphSplit {
  const Signature* signatures = nullptr;   ///< by leaf
  const Laid* laid_between = nullptr;      ///< by leaf: how its output lies between layers, where all that read it find it
  const Laid* gradient_between = nullptr;  ///< by leaf: how all that read it leave its gradient, which the leaf takes so
  const Spec* spec_between = nullptr;      ///< by leaf: the part of that output on one rank
  int ranks = 1;                           ///< 1: nothing is split, and the views above are null
  /// By the number: g++ takes no comparison of such an address with null for a constant under -fsanitize=undefined.
  [[nodiscard]] constexpr bool any() const { return ranks > 1; }
};

inline constexpr Signature unsplit{};  ///< of every leaf of a graph that is not split

/// Floating-point operations of one leaf on one sample, by what they make.
/// Linear<4, 3> has 27 forward, 24 for the gradient of its input and 27 for those of its parameters: 78 in all.
struct LeafFlops {
  std::int64_t forward = 0;
  std::int64_t input_gradient = 0;
  std::int64_t parameter_gradients = 0;
  [[nodiscard]] constexpr std::int64_t total() const { return forward + input_gradient + parameter_gradients; }
};

/// The traced model. Values are numbered 0 .. node_count; shapes are per sample.
struct Graph {
  static constexpr int most_inputs = 4;
  const TracedLeaf* leaves = nullptr;
  const Node* nodes = nullptr;
  int leaf_count = 0;
  int node_count = 0;
  int parameter_count = 0;
  int tie_count = 0;       ///< nodes that use the parameters of another
  int first_backward = 0;  ///< where parameters are frozen or the input is no float, the first node with trained ones: no backward runs before it
  Spec input;              ///< the first: value 0
  Spec more_inputs[most_inputs - 1];  ///< of FromInput<1> and so on: each node of one is a value of its own
  int input_count = 1;
  ElementType values = ElementType::float32;  ///< as what the floats that layers give, and their gradients, are kept and moved
  Text<64> model;
  Diagnosis fault;
  GraphSplit split;  ///< leaves are then of the size that one rank runs

  [[nodiscard]] constexpr const Spec& input_of(int number) const { return number == 0 ? input : more_inputs[number - 1]; }
  /// The input of the model that a value is, -1: a layer makes it.
  [[nodiscard]] constexpr int input_number(int value) const { return value == 0 ? 0 : leaves[nodes[value - 1].leaf].leaf.source - 1; }
  /// Some input is no float, so it has no gradient.
  [[nodiscard]] constexpr bool takes_whole_numbers() const {
    for (int i = 0; i < input_count; ++i)
      if (!is_real(input_of(i).type)) return true;
    return false;
  }
  [[nodiscard]] constexpr const Leaf& leaf(int node) const { return leaves[nodes[node].leaf].leaf; }
  [[nodiscard]] constexpr bool adds(int node) const { return leaves[nodes[node].leaf].leaf.sums; }
  [[nodiscard]] constexpr const Spec& spec(int value) const {
    if (value == 0) return input;
    return split.ranks > 1 ? split.spec_between[nodes[value - 1].leaf] : leaves[nodes[value - 1].leaf].leaf.out;
  }
  [[nodiscard]] constexpr const Signature& signature(int node) const { return split.ranks > 1 ? split.signatures[nodes[node].leaf] : unsplit; }
  /// How a value lies between layers; its gradient lies as it does, or each rank has a term of it.
  [[nodiscard]] constexpr Laid laid_between(int value) const {
    return value == 0 || split.ranks == 1 ? laid::replicate : split.laid_between[nodes[value - 1].leaf];
  }
  [[nodiscard]] constexpr Laid gradient_between(int value) const {
    return value == 0 || split.ranks == 1 ? laid::replicate : split.gradient_between[nodes[value - 1].leaf];
  }
  /// The leaf reads its input another way than it lies, or gives its output another way than it is to lie.
  [[nodiscard]] constexpr bool converts_input(int node) const {
    if (split.ranks == 1) return false;  // few calls, here and below: bodies ask this many times of each layer
    const Node& n = nodes[node];
    if (n.operand_count == 0) return false;
    const int value = n.operands[0];
    const std::int16_t lies = value == 0 ? laid::replicate.code : split.laid_between[nodes[value - 1].leaf].code;
    return lies != split.signatures[n.leaf].input.code;
  }
  [[nodiscard]] constexpr bool converts_output(int node) const {
    if (split.ranks == 1) return false;
    const int leaf = nodes[node].leaf;
    return split.laid_between[leaf].code != split.signatures[leaf].output.code;
  }
  [[nodiscard]] constexpr const Spec& output() const { return spec(node_count); }

  /// Nodes of two operands that are no sums: their kernels make a gradient of each.
  [[nodiscard]] constexpr int joins() const {
    int count = 0;
    for (int n = 0; n < node_count; ++n) count += nodes[n].operand_count > 1 && !leaves[nodes[n].leaf].leaf.sums ? 1 : 0;
    return count;
  }
  /// No trained parameter has a part in values up to this one, so nobody needs their gradients.
  [[nodiscard]] constexpr int last_untrained() const {
    int value = 0;
    while (value < node_count && nodes[value].trained_count() == 0) ++value;
    return value;
  }
  /// A trained parameter has a part in the value; `untrained` is last_untrained().
  [[nodiscard]] constexpr bool needs_gradient(int value, int untrained) const { return value > untrained && nodes[value - 1].needs_gradient; }
  /// The node has parameters, and none of them is trained.
  [[nodiscard]] constexpr bool frozen(int node) const { return nodes[node].frozen_count > 0; }
  /// The node whose parameters a node uses: itself unless it is tied.
  [[nodiscard]] constexpr int owner(int node) const { return nodes[node].tied_to < 0 ? node : nodes[node].tied_to; }
  /// Tied parameters count once.
  [[nodiscard]] constexpr std::int64_t parameter_elements() const {
    std::int64_t sum = 0;
    for (int n = 0; n < node_count; ++n) sum += nodes[n].tied_to < 0 ? parameter_elements(n) : 0;
    return sum;
  }
  [[nodiscard]] constexpr std::int64_t parameter_elements(int node) const {
    std::int64_t sum = 0;
    for (int p = 0; p < leaf(node).parameter_count; ++p) sum += leaf(node).parameters[p].shape.elements();
    return sum;
  }
  /// Some backward needs the gradient of the input of the node, or of its parameters.
  [[nodiscard]] constexpr bool runs_backward(int node) const {
    return node >= first_backward && nodes[node].needs_gradient && (!frozen(node) || nodes[node].operands[0] > first_backward);
  }
  /// A frozen leaf that tracks values leaves them as they are, and takes them as it does in a prediction.
  [[nodiscard]] constexpr bool still(int node) const { return frozen(node) && leaf(node).tracks(); }
  /// A training runs its forward, or its backward, in phases.
  [[nodiscard]] constexpr bool runs_phases(int node) const { return leaf(node).has_phases() && !still(node); }
  [[nodiscard]] constexpr bool has_phases() const {
    for (int l = 0; l < leaf_count; ++l)
      if (leaves[l].leaf.has_phases()) return true;
    return false;
  }
  /// Of parameters that are tracked: each leaf with them owns them.
  [[nodiscard]] constexpr std::int64_t tracked_elements() const {
    std::int64_t sum = 0;
    for (int n = 0; n < node_count; ++n)
      for (int k = 0; k < nodes[n].parameter_count; ++k)
        if (leaf(n).parameters[k].tracked()) sum += leaf(n).parameters[k].shape.elements();
    return sum;
  }
  /// Of parameters that no step changes. Tied parameters count once.
  [[nodiscard]] constexpr std::int64_t frozen_elements() const {
    std::int64_t sum = 0;
    for (int n = 0; n < node_count; ++n) sum += frozen(n) && nodes[n].tied_to < 0 ? parameter_elements(n) : 0;
    return sum;
  }
  /// What training runs of a node in a chunk that begins with value `first`; `untrained` is last_untrained(). The first layer with trained parameters
  /// makes no gradient of its input, unless another chunk made that input and has it sent back; layers before it run no backward. A frozen layer
  /// makes no gradients of parameters.
  ///
  /// Linear<4, 3> as the first layer: forward 27, gradients of parameters 27. Behind another: 24 more for the gradient of its input.
  [[nodiscard]] constexpr LeafFlops work(int node, int untrained, int first = 0) const {
    const Leaf& runs = leaf(node);
    if (node < untrained || !nodes[node].needs_gradient) return {runs.forward_flops, 0, 0};
    const std::int64_t both = runs.input_flops();
    std::int64_t of_inputs = 0;
    for (int k = 0; k < nodes[node].operand_count; ++k) {
      const int value = nodes[node].operands[k];
      if (needs_gradient(value, untrained) || (value > first_backward && value <= first && value <= untrained))
        of_inputs += runs.operands == 1 ? both : (both + 1 - k) / 2;
    }
    return {runs.forward_flops, of_inputs, frozen(node) ? 0 : runs.weight_flops};
  }
  [[nodiscard]] constexpr LeafFlops work(int node) const { return work(node, last_untrained()); }
  /// Forward and backward of one sample, where the model is not cut before its first parameter.
  [[nodiscard]] constexpr std::int64_t flops(int node) const { return work(node).total(); }

  /// state_dict prefix of a node: "linear1", "3.0.weight" without the last word. A path of 80 characters with three numbers of nine digits fits.
  [[nodiscard]] HEDDLE_COLD constexpr Text<112> name(int node) const {
    Text<112> out;
    int star = 0;
    for (const char c : leaves[nodes[node].leaf].path.view()) {
      if (c == '*')
        write_digits(out, nodes[node].repetition[star++]);
      else
        out << c;
    }
    return out;
  }
  /// A name of a parameter has 40 characters at most.
  [[nodiscard]] constexpr Text<160> parameter_name(int node, int parameter) const {
    Text<160> out = name(node);
    if (!out.empty()) out << '.';
    return out << leaf(node).parameters[parameter].name.view();
  }
  /// "layer 2 'linear2' Linear<500, 10>"
  [[nodiscard]] HEDDLE_COLD constexpr Text<200> describe(int node) const {
    Text<200> out{"layer "};
    out << node << " '" << name(node).view() << "' " << leaf(node).spelled.view();
    return out;
  }
};

/// Graph::first_backward, from the input and the nodes: token ids and bytes have no gradient, so none of them is made, or sent where a cut lies
/// before the layer that reads them.
[[nodiscard]] constexpr int first_backward_of(const Graph& graph) {
  if (graph.takes_whole_numbers()) return graph.last_untrained();
  int n = 0;
  while (n < graph.node_count && !graph.frozen(n)) ++n;
  return n < graph.node_count ? graph.last_untrained() : 0;
}

/// Sets Node::needs_gradient of so many nodes: of Branches<Concat, Linear<4, 3>, Tanh> what Tanh gives needs none. A value that is read by layers of
/// one branch alone has the gradient that these hand back.
/// Tested  graph/graph_test
constexpr void find_gradients(Node* nodes, int count) {
  int untrained = 0;
  while (untrained < count && nodes[untrained].trained_count() == 0) ++untrained;
  for (int n = untrained + 1; n < count; ++n) {
    Node& node = nodes[n];
    node.needs_gradient = node.trained_count() > 0;
    for (int k = 0; k < node.operand_count; ++k)
      if (const int value = node.operands[k]; value > untrained && nodes[value - 1].needs_gradient) node.needs_gradient = true;
  }
}

/// G21: the values of a batch, or the operations on a row of each micro-batch, are more than can be counted. `rows` of the whole batch.
/// Tested  graph/graph_test, oracle/large_meshes_test
[[nodiscard]] constexpr Diagnosis check_totals(const Graph& graph, std::int64_t rows, std::int64_t micro_batches) {
  constexpr std::int64_t most_values = std::int64_t{1} << 56;  // with a few copies of four bytes each
  std::int64_t values = 0;
  for (int i = 0; i < graph.input_count; ++i) values = counted_sum(values, graph.input_of(i).elements());
  std::int64_t flops = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    values = counted_sum(values, graph.leaf(n).out.elements());
    flops = counted_sum(flops, graph.flops(n));
  }
  if (counted_product(values, rows) <= most_values && counted_product(flops, micro_batches) < most_countable) return {};
  return Diagnosis{Code{'G', 21}, ""} << "a batch of " << rows << " rows makes more values or operations in " << graph.model.view()
                                      << " than can be counted: " << values << " and " << flops
                                      << " for each row. Fix: use a smaller batch, or smaller sizes.";
}

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::Graph, graph_room::Node, graph_room::TracedLeaf;
}  // namespace heddle::extending
