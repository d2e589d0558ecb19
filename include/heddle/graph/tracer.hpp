// SPDX-License-Identifier: MIT
// Room: graph. The walk over a model type that records leaves and nodes; a Repeat's block is described once.
// Sees: core, graph/leaf_rules, graph/named.  Does not see: policies, devices, memory.
// In: how many leaves and nodes there are.  Out: Tracer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/branches.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/inputs.hpp"
#include "heddle/graph/join.hpp"
#include "heddle/graph/layer.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/named.hpp"

namespace heddle::graph_room {

/// Records leaves and nodes, of which so many are described. Every composite calls child, named, repeat, join; each leaf is described with the Spec
/// it meets. Of Linear, ReLU, Linear a Tracer<3, 3> records 3 leaves, 3 nodes and 4 parameters.
template <int Leaves, int Nodes> struct Tracer {
  TracedLeaf leaves[std::size_t{Leaves > 0 ? Leaves : 1}]{};
  Node nodes[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  int leaf_count = 0;
  int node_count = 0;
  int parameter_count = 0;
  int tie_count = 0;
  Spec inputs_[Graph::most_inputs];
  int input_count = 1;
  int sources = 0;  // FromInput
  int described = Leaves;
  bool input_known = false;
  bool has_names = false;
  Diagnosis fault;

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>) {
      return L::trace(*this, value);
    } else {
      if (value == 0) learn_input<L>();
      TracedLeaf& entry = leaves[leaf_count];
      Diagnosis found;
      if (leaf_count < described) {
        entry.leaf = L::describe(spec(value));
        found = fault_of_layer<L>(entry.leaf, given_to(entry.leaf, value), values_to_try(leaf_count));
      } else {
        entry.leaf.spelled = type_name<L>();
        found = refuse_description(entry.leaf, spec(value));
      }
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
    numbered_ = path_.length;
    const int out = layer<L>(value);
    leave(before);
    return out;
  }
  template <class L> constexpr int named(std::string_view name, int value) {
    path_.length = parent_;  // the name stands instead of the position
    numbered_ = -1;
    if (const Diagnosis found = check_label<L>(name, place().view()); !found.ok()) refuse(found);
    if (path_.length > 0) path_ << '.';
    path_ << name;
    has_names = true;
    return layer<L>(value);
  }
  /// The position that was written last does not stand in names.
  constexpr void leave_out_number() {
    if (numbered_ != path_.length) return;
    path_.length = parent_;
    has_names = true;
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
    numbered_ = -1;
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
  /// True if frozen layers begin here, false among them.
  constexpr bool begin_frozen() {
    if (frozen_) return false;
    return frozen_ = true;
  }
  constexpr void end_frozen(bool begun) {
    if (begun) frozen_ = false;
  }
  /// What Op makes of two values.
  template <class Op> constexpr int join(int first, int second, const Joint& joint = {}) {
    TracedLeaf& entry = leaves[leaf_count];
    entry.leaf = Op::describe(spec(first), spec(second));
    entry.path = path_;
    entry.type = type_id<Op>();
    Diagnosis found;
    if (!(Op::wanted(spec(first), spec(second)) == spec(second)))
      refuse(found = refuse_join<Op>(spec(first), spec(second), joint, place().view()));
    else
      found = check_joined(entry.leaf, spec(first), spec(second));
    if (!found.ok()) entry.leaf = nothing_of(entry.leaf, spec(first));
    const int node = record(first, second, 2);
    if (!found.ok()) blame(node, found);
    return node + 1;
  }
  template <class Op, class... Layers> constexpr void check_branches() {
    if (const Diagnosis found = graph_room::check_branches<Op, Layers...>(place().view()); !found.ok()) refuse(found);
  }
  /// The inputs of the model, if nothing stands before them.
  template <class... Each> constexpr void inputs(int value) {
    const StatedInputs stated = read_inputs<Each...>(place().view(), input_known || value != 0);
    if (!stated.fault.ok()) return refuse(stated.fault);
    input_known = true;
    input_count = stated.count;
    for (int i = 0; i < input_count; ++i) inputs_[i] = stated.all[i];
  }
  /// Input `number` of the model as a value of its own.
  template <class L> constexpr int source(int number, int) {
    const int known = input_known ? input_count : 0;
    const bool there = number >= 0 && number < known;
    if (!there) refuse(refuse_source(number, known, place().view()));
    TracedLeaf& entry = leaves[leaf_count];
    entry.leaf = source_leaf(there ? number : 0, there ? inputs_[number] : Spec{Shape{1}});
    entry.path = path_;
    entry.type = type_id<L>();
    ++sources;
    return record(0, 0, 0) + 1;
  }
  /// Names among siblings: a path is then unique in the whole model.
  template <class... Layers> constexpr void siblings() {
    constexpr int count = sizeof...(Layers);
    const std::string_view labels[std::size_t{count + 1}] = {label_of<Layers>()..., {}};
    const bool labelled[std::size_t{count + 1}] = {(requires { Layers::label.view(); })..., false};
    if (fault.ok()) fault = check_sibling_names<count>(labels, labelled, place().view());
  }
  [[nodiscard]] constexpr bool frozen(int node) const { return nodes[node].frozen_count > 0; }
  constexpr void refuse(const Diagnosis& diagnosis) {
    if (fault.ok()) fault = diagnosis;
  }

 private:
  static constexpr int most_path = 80;  // of TracedLeaf::path
  Text<most_path> path_;
  int parent_ = 0;
  int numbered_ = -1;  // length of the path while a position stands at its end
  int depth_ = 0;
  int repetition_[Node::most_nested_repeats]{};
  int block_ = -1;
  int next_block_ = 0;
  bool frozen_ = false;

  [[nodiscard]] constexpr const Spec& spec(int value) const { return value == 0 ? inputs_[0] : leaves[nodes[value - 1].leaf].leaf.out; }

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
  /// What a leaf is given. Only the first layer that does more than reshape reads an input of the model: one that looks ids up says that they are
  /// int32. Where it reads what a layer computes, check_token_ids says so, with both layers.
  [[nodiscard]] constexpr Spec given_to(const Leaf& reader, int value) {
    const Spec given = as_input_of(reader, spec(value));
    if (given.type == spec(value).type) return given;
    int made = value;
    while (made > 0 && leaves[nodes[made - 1].leaf].leaf.reshapes && nodes[made - 1].operand_count > 0) made = nodes[made - 1].operands[0];
    const int number = made == 0 ? 0 : leaves[nodes[made - 1].leaf].leaf.source - 1;
    if (number < 0) return reader.vocabulary > 0 ? given : spec(value);
    inputs_[number].type = given.type;
    const auto set = [&](Leaf& leaf) { leaf.in.type = leaf.out.type = given.type, leaf.signature_count = 0; };  // without a gradient: it stays whole
    for (int v = value; v != made; v = nodes[v - 1].operands[0]) set(leaves[nodes[v - 1].leaf].leaf);
    for (int l = 0; l < leaf_count && sources > 0; ++l)
      if (leaves[l].leaf.source == number + 1) set(leaves[l].leaf);
    return given;
  }
  template <class L> constexpr void learn_input() {
    if (input_known) return;
    input_known = true;
    if constexpr (SaysWhatItTakes<L>) {
      inputs_[0] = L::takes();
      Leaf first;
      first.spelled = type_name<L>();
      if (const Diagnosis found = check_shape(first, " takes", "", inputs_[0].shape); !found.ok()) {
        refuse(found);
        inputs_[0] = Spec{Shape{1}};
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
    node.frozen_count = frozen_ ? node.parameter_count : 0;
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
    fault = Diagnosis{found.code, ""} << "layer " << node << " '" << leaves[nodes[node].leaf].path.view() << "': " << found.words.view();
    for (int i = 0; i < found.number_count; ++i) fault.numbers[i] = found.numbers[i];
    fault.number_count = found.number_count;
  }
};

}  // namespace heddle::graph_room
