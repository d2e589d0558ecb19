// SPDX-License-Identifier: MIT
// Room: graph. From a model type to a Graph: one walk over each Sequential, a Repeat's block is described once.
// Sees: core, graph/leaf, graph/graph.  Does not see: policies, devices, memory.
// In: a model type.  Out: graph_of<Model>.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/type_name.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/counter.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/layer.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/spelled.hpp"
#include "heddle/graph/token_ids.hpp"
#include "heddle/graph/unique_names.hpp"

namespace heddle::inline graph_room {

struct AddMark {};  ///< stands for the sum of a Residual among leaf types

/// Records leaves and nodes. Every composite calls child, named, repeat, add; each leaf is described with the Spec it meets.
template <int Leaves, int Nodes> struct Tracer {
  TracedLeaf leaves[std::size_t{Leaves > 0 ? Leaves : 1}]{};
  Node nodes[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  int leaf_count = 0;
  int node_count = 0;
  int parameter_count = 0;
  int tie_count = 0;
  Spec input;
  bool input_known = false;
  bool has_names = false;
  Diagnosis fault;

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>) {
      return L::trace(*this, value);
    } else {
      if (value == 0) learn_input<L>();
      TracedLeaf& entry = leaves[leaf_count];
      entry.leaf = L::describe(spec(value));
      const Diagnosis found = fault_of_layer<L>(entry.leaf, spec(value), values_to_try(leaf_count));
      if (!found.ok()) entry.leaf = nothing_of(entry.leaf, spec(value));
      entry.path = path_;
      if (path_.cut)
        refuse(Diagnosis{Code{'G', 4}, ""} << "the name that begins with '" << path_.view() << "' has more than " << most_path
                                           << " characters. Fix: use shorter names or nest less deeply.");
      entry.type = type_id<L>();
      const int node = record(value, value, 1);
      if (!found.ok()) blame(node, found);
      return node + 1;
    }
  }
  template <class L> constexpr int child(int position, int value) {
    const int before = enter();
    write_digits(path_, position);
    const int out = layer<L>(value);
    leave(before);
    return out;
  }
  template <class L> constexpr int named(std::string_view name, int value) {
    path_.length = parent_;  // the name stands instead of the position
    if (const Diagnosis found = check_label<L>(name, place().view()); !found.ok()) refuse(found);
    if (path_.length > 0) path_ << '.';
    path_ << name;
    has_names = true;
    return layer<L>(value);
  }
  /// The block is traced once; its nodes are copied with their operands shifted.
  template <int Times, class Block> constexpr int repeat(int value) {
    if constexpr (Times < 1) {
      refuse(Diagnosis{Code{'G', 6}, ""} << "Repeat<" << Times << ", " << type_name<Block>().view() << "> repeats its block " << Times
                                         << " times. Fix: repeat it at least once.");
      return layer<Block>(value);
    }
    if (depth_ == Node::most_nested_repeats) {
      refuse(Diagnosis{Code{'G', 6}, ""} << "Repeat is nested more than " << Node::most_nested_repeats << " deep at '" << path_.view()
                                         << "'. Fix: flatten the inner repeats.");
      return value;
    }
    if (Times > 1 && !label_of<Block>().empty())
      refuse(Diagnosis{Code{'G', 4}, ""} << "the name '" << quoted(label_of<Block>()).view() << "' inside a Repeat " << place().view()
                                         << " would be that of all " << Times << " repetitions. Fix: put the name around the Repeat.");
    const int before = enter();
    path_ << '*';
    const int depth = depth_;
    const bool starred = label_of<Block>().empty();  // a name takes the place of the star
    if (starred) ++depth_;
    const bool outermost = begin_unit();
    const int first = node_count;
    int out = layer<Block>(value);
    const Spec in = spec(value);  // read after the block: it may be the first to tell the input of the model
    const int length = node_count - first;
    if (fault.ok() && Times > 1 && !(spec(out) == in))
      fault = Diagnosis{Code{'G', 8}, ""} << "Repeat<" << Times << ", " << type_name<Block>().view() << "> has a block that takes " << in.shape
                                          << " and gives " << spec(out).shape
                                          << ", so it cannot follow itself. Fix: let the block give what it takes.";
    for (int t = 1; t < Times; ++t) {
      if (outermost) block_ = next_block_++;
      for (int i = 0; i < length; ++i) copy_node(first + i, value, out, length, depth, t);
    }
    end_unit(outermost);
    depth_ = depth;
    leave(before);
    return out + length * (Times - 1);
  }
  /// True if a unit begins here, false inside another one.
  constexpr bool begin_unit() {
    if (block_ >= 0) return false;
    block_ = next_block_++;
    return true;
  }
  constexpr void end_unit(bool begun) {
    if (begun) block_ = -1;
  }
  constexpr int add(int skip, int value) {
    TracedLeaf& entry = leaves[leaf_count];
    entry.leaf.kind << "Add";
    entry.leaf.spelled << "Add";
    entry.leaf.in = entry.leaf.out = spec(value);
    entry.leaf.saves = Saves::nothing;
    entry.leaf.forward_flops = spec(value).elements();
    for (int d = 0; d < spec(value).shape.dimensions; ++d)
      entry.leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    entry.path = path_;
    entry.type = type_id<AddMark>();
    entry.adds = true;
    if (fault.ok() && !(spec(skip) == spec(value)))
      fault = Diagnosis{Code{'G', 2}, ""} << "the Residual " << place().view() << " takes " << spec(skip).shape << " but its layers give "
                                          << spec(value).shape << ", which cannot be added. Fix: let the last layer inside give " << spec(skip).shape
                                          << '.';
    return record(value, skip, 2) + 1;
  }
  /// Names among siblings: a path is then unique in the whole model.
  template <class... Layers> constexpr void siblings() {
    constexpr int count = sizeof...(Layers);
    const std::string_view labels[std::size_t{count + 1}] = {label_of<Layers>()..., {}};
    const bool labelled[std::size_t{count + 1}] = {(requires { Layers::label.view(); })..., false};
    if (fault.ok()) fault = check_sibling_names<count>(labels, labelled, place().view());
  }
  constexpr void refuse(const Diagnosis& diagnosis) {
    if (fault.ok()) fault = diagnosis;
  }

 private:
  static constexpr int most_path = 80;  // of TracedLeaf::path
  Text<most_path> path_;
  int parent_ = 0;
  int depth_ = 0;
  int repetition_[Node::most_nested_repeats]{};
  int block_ = -1;
  int next_block_ = 0;

  [[nodiscard]] constexpr const Spec& spec(int value) const { return value == 0 ? input : leaves[nodes[value - 1].leaf].leaf.out; }

  /// "in the model" or "in 'blocks.*'": where a sentence finds the layers that are being traced.
  [[nodiscard]] constexpr Text<96> place() const {
    Text<96> words{"in "};
    if (path_.empty()) return words << "the model";
    return words << '\'' << path_.view() << '\'';
  }
  constexpr int enter() {
    const int before = parent_;
    parent_ = path_.length;
    if (path_.length > 0) path_ << '.';
    return before;
  }
  constexpr void leave(int before) {
    path_.length = parent_;
    parent_ = before;
  }
  template <class L> constexpr void learn_input() {
    if (input_known) return;
    input_known = true;
    if constexpr (SaysWhatItTakes<L>) {
      input = L::takes();
      Leaf first;
      first.spelled = type_name<L>();
      if (const Diagnosis found = check_shape(first, " takes", "", input.shape); !found.ok()) {
        refuse(found);
        input = Spec{Shape{1}};
      }
    } else {
      refuse(Diagnosis{Code{'G', 10}, ""} << "the input shape of the model is not known: its first layer " << type_name<L>().view()
                                          << " takes any shape. Fix: begin the model with Input<sizes...>.");
    }
  }
  constexpr int record(int first, int second, int operands) {
    Node& node = nodes[node_count];
    node.leaf = leaf_count;
    node.operands[0] = first;
    node.operands[1] = second;
    node.operand_count = operands;
    for (int d = 0; d < Node::most_nested_repeats; ++d) node.repetition[d] = repetition_[d];
    node.block = block_;
    number_parameters(node);
    ++leaf_count;
    return node_count++;
  }
  constexpr void number_parameters(Node& node) {
    node.first_parameter = parameter_count;
    node.parameter_count = leaves[node.leaf].leaf.parameter_count;
    parameter_count += node.parameter_count;
  }
  // The input of repetition t is the output of repetition t - 1; everything else moves by t block lengths.
  constexpr void copy_node(int original, int entry_value, int block_out, int length, int depth, int time) {
    Node node = nodes[original];
    for (int& operand : node.operands) operand = operand == entry_value ? block_out + length * (time - 1) : operand + length * time;
    node.repetition[depth] = time;
    node.block = block_;
    number_parameters(node);
    nodes[node_count++] = node;
  }
  /// Stands for a leaf that is refused: what comes after it is not refused again.
  [[nodiscard]] static constexpr Leaf nothing_of(const Leaf& refused, const Spec& given) {
    Leaf leaf;
    leaf.kind = refused.kind;
    leaf.spelled = refused.spelled;
    leaf.in = leaf.out = given;
    return leaf;
  }
  constexpr void blame(int node, const Diagnosis& found) {
    if (!fault.ok()) return;
    constexpr int prefix = 13;  // "[heddle.G01] "
    const auto words = found.text.view();
    fault = Diagnosis{found.code, ""} << "layer " << node << " '" << leaves[nodes[node].leaf].path.view()
                                      << "': " << (words.size() > prefix ? words.substr(prefix) : words);
    for (int i = 0; i < found.number_count; ++i) fault.numbers[i] = found.numbers[i];
    fault.number_count = found.number_count;
  }
};

template <class Model> struct Traced {
  static constexpr Counter counted = [] {
    Counter counter;
    counter.layer<Model>(0);
    return counter;
  }();
  static constexpr Diagnosis layers = [] {
    LayerCheck check;
    if (!counted.sound) check.layer<Model>(0);
    return check.fault;
  }();
  static constexpr bool traceable = counted.traceable();
  static constexpr auto recorded = [] {
    Tracer<traceable ? counted.leaves : 0, traceable ? counted.nodes : 0> tracer;
    if constexpr (traceable)
      tracer.template layer<Model>(0);
    else
      tracer.refuse(refuse_depth(type_name<Model>().view(), counted));
    return tracer;
  }();
  static constexpr Graph graph = [] {
    Graph g;
    g.leaves = recorded.leaves;
    g.nodes = recorded.nodes;
    g.leaf_count = recorded.leaf_count;
    g.node_count = recorded.node_count;
    g.parameter_count = recorded.parameter_count;
    g.tie_count = recorded.tie_count;
    g.input = recorded.input;
    g.model = type_name<Model>();
    g.fault = !layers.ok()           ? layers
              : !recorded.fault.ok() ? recorded.fault
              : recorded.has_names   ? check_unique_names<counted.leaves>(g.leaves, g.leaf_count)
                                     : Diagnosis{};
    if (g.fault.ok() && !recorded.input_known)
      g.fault = Diagnosis{Code{'G', 10}, ""} << "the input shape of the model is not known: " << g.model.view()
                                             << " has no layer that takes one. Fix: begin the model with Input<sizes...>, and write its layers.";
    if (g.fault.ok()) g.fault = check_token_ids(g);
    return g;
  }();
};

/// The layer graph of a model as a constexpr value.
template <class Model> inline constexpr const Graph& graph_of = Traced<Model>::graph;

}  // namespace heddle::inline graph_room
