// SPDX-License-Identifier: MIT
// Room: policy. What there is to know of a graph before its leaves are split: who reads what, what must lie whole, which sections readers ask for.
// Sees: graph, core.  Does not see: memory, processes, instructions.
// In: a Graph, a number of ranks.  Out: SplitGraph, facts by leaf.
#pragma once

#include <cstdint>

#include "heddle/graph/graph.hpp"
#include "heddle/graph/sections.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Facts by leaf; a block of a Repeat has each leaf once. Of Linear, ReLU, Linear the ReLU has source 1, the first leaf, and reader 5, operand 0 of
/// leaf 2.
///
/// A value that one leaf alone reads may lie in any way. What several read is shared, as are the ends of repeated blocks and the output: it lies
/// whole; or, where sequences are split, as parts along the dimension that a layer has marked as the sequence (Spec::sequence). Tested
/// policy/split_graph_test
struct SplitGraph {
  static constexpr int most_open = 8;  // values that wait for the leaf that reads them: beyond, they are shared
  static constexpr std::int16_t barred = -4096;

  const Graph& graph;
  int ranks;
  bool splits_sequences;
  LossSplit loss;
  int loss_leaf = -1;  ///< the leaf whose output the loss alone reads, and takes in parts

  bool shared[Layout::most_leaves]{};             // not one leaf alone reads what this one gives
  bool whole[Layout::most_leaves]{};              // it cannot be split along the sequence
  bool mixed[Layout::most_leaves]{};              // a block takes its output, and in other repetitions another one
  std::int16_t terms[Layout::most_leaves]{};      // leaves that read the output and can leave a term of its gradient; below 0 if one cannot
  bool reads_input[Layout::most_leaves]{};        // reads the input of the model
  bool in_tie[Layout::most_leaves]{};             // shares its parameters
  bool frozen[Layout::most_leaves]{};             // has parameters that are not trained
  int times[Layout::most_leaves]{};               // nodes that run the leaf
  int inner[Layout::most_leaves]{};               // those of them whose input needs a gradient
  std::int16_t source[Layout::most_leaves][2]{};  // 1 + the leaf whose output an operand is, 0: the input of the model
  std::int16_t reader[Layout::most_leaves]{};     // 1 + 2 x the leaf that reads the output + the number of the operand, 0: none
  Laid asked[Layout::most_leaves]{};              // the sections in which the one reader may take the output; whole if there are none

  constexpr SplitGraph(const Graph& of, int parts, bool sequences, const LossSplit& of_loss)
      : graph(of), ranks(parts), splits_sequences(sequences), loss(of_loss) {}

  [[nodiscard]] constexpr const Leaf& leaf(int l) const { return graph.leaves[l].leaf; }
  [[nodiscard]] constexpr int maker(int value) const { return graph.nodes[value - 1].leaf; }
  [[nodiscard]] static constexpr bool marks_sequence(const Spec& value) { return value.sequence >= 0 && value.sequence < value.shape.dimensions; }
  /// How parts of the output lie along its sequence, if it has one.
  [[nodiscard]] constexpr Laid sequence(int l) const { return marks_sequence(leaf(l).out) ? laid::shard(leaf(l).out.sequence) : laid::replicate; }

  constexpr void study() {
    for (int l = 0; l < graph.leaf_count; ++l) {
      const Spec& out = leaf(l).out;
      whole[l] = !splits_sequences || leaf(l).reshapes || !marks_sequence(out) || out.shape.sizes[out.sequence] % ranks != 0;
    }
    const int untrained = graph.last_untrained();
    for (int n = 0; n < graph.node_count; ++n) {
      const Node& node = graph.nodes[n];
      const int l = node.leaf;
      ++times[l];
      frozen[l] = graph.frozen(n);
      if (node.tied_to >= 0) in_tie[l] = in_tie[graph.nodes[node.tied_to].leaf] = true;
      if (node.operand_count > 0 && graph.needs_gradient(node.operands[0], untrained)) ++inner[l];
      for (int k = 0; k < node.operand_count; ++k) read(l, k, node.operands[k]);
    }
    const int last = graph.nodes[graph.node_count - 1].leaf;
    if (loss.takes.sharded() && reader[last] == 0) loss_leaf = last;
    whole[last] = true;
    int waiting = 0;
    for (int l = 0; l < graph.leaf_count; ++l) {
      for (int k = 0; k < leaf(l).operands; ++k) waiting -= source[l][k] > 0 && !shared[source[l][k] - 1] ? 1 : 0;
      shared[l] = shared[l] || reader[l] == 0 || waiting == most_open;
      waiting += shared[l] ? 0 : 1;
    }
    while (splits_sequences && spread_whole()) continue;
    for (int l = graph.leaf_count - 1; l >= 0; --l) {
      asked[l] = sections_asked(l);
      for (int k = 0; k < leaf(l).operands; ++k)
        if (const int from = source[l][k] - 1; from >= 0) terms[from] = static_cast<std::int16_t>(terms[from] + (leaves_terms(l) ? 1 : barred));
    }
  }
  /// Several leaves read the value, and each may leave a term of its gradient, which the leaf that gives it can sum.
  [[nodiscard]] constexpr bool may_sum_once(int l) const {
    return terms[l] > 1 && !mixed[l] && !leaf(l).reshapes && is_real(leaf(l).out.type) && l != graph.nodes[graph.node_count - 1].leaf;
  }
  [[nodiscard]] constexpr bool leaves_terms(int l) const {
    bool can = false;
    for (int i = 0; i < leaf(l).signature_count && leaf(l).operands == 1; ++i)
      can = can || (leaf(l).signatures[i].input.replicated() && leaf(l).signatures[i].input_gradient.partial());
    return can;
  }
  /// A leaf takes a value as its operand `k`. A block takes what is before it, and then its own end: of both there is no one reader.
  constexpr void read(int l, int k, int value) {
    const bool input = graph.input_number(value) >= 0;
    const auto made = static_cast<std::int16_t>(input ? 0 : maker(value) + 1);
    if (input) reads_input[l] = true;
    if (times[l] > 1 && source[l][k] != made) {
      if (source[l][k] > 0) shared[source[l][k] - 1] = mixed[source[l][k] - 1] = true;
      if (made > 0) shared[made - 1] = mixed[made - 1] = true;
    }
    source[l][k] = made;
    if (made == 0) return;
    const auto by = static_cast<std::int16_t>(1 + 2 * l + k);
    if (made > l || (reader[made - 1] != 0 && reader[made - 1] != by)) shared[made - 1] = true;
    reader[made - 1] = by;
  }
  /// A leaf of two operands takes them as they lie, and this one cannot take parts of a sequence: it joins values along it.
  [[nodiscard]] constexpr bool joins_sequences(int l) const {
    if (leaf(l).operands == 1) return false;
    const Laid parts = sequence(l);
    for (int i = 0; i < leaf(l).signature_count; ++i)
      if (const Signature& s = leaf(l).signatures[i]; s.input == parts && s.operand(1) == parts && s.output == parts) return false;
    return true;
  }
  /// The leaf was described for a value with another sequence, or with none: it begins a block, or reads two that differ.
  [[nodiscard]] constexpr bool differs(int l, int value) const { return value > 0 && leaf(maker(value)).out.sequence != leaf(l).in.sequence; }
  /// Values that one leaf reads lie alike; what a reshape reads, or what is read beside the input of the model, is whole.
  constexpr bool spread_whole() {
    bool changed = false;
    for (int n = 0; n < graph.node_count; ++n) {
      const Node& node = graph.nodes[n];
      bool must = reads_input[node.leaf] || leaf(node.leaf).reshapes || joins_sequences(node.leaf);
      for (int k = 0; k < node.operand_count; ++k)
        must = must || differs(node.leaf, node.operands[k]) || (node.operands[k] > 0 && whole[maker(node.operands[k])]);
      changed = changed || must != reads_input[node.leaf];
      reads_input[node.leaf] = must;
      for (int k = 0; k < node.operand_count; ++k) {
        if (!must || node.operands[k] == 0 || whole[maker(node.operands[k])]) continue;
        whole[maker(node.operands[k])] = changed = true;
      }
    }
    return changed;
  }
  /// What stands behind a join asks both its operands for their sections of what it asks for.
  [[nodiscard]] constexpr Laid sections_asked(int l) const {
    if (shared[l]) return laid::replicate;
    const int by = (reader[l] - 1) / 2;
    for (int i = 0; i < leaf(by).signature_count; ++i) {
      const Signature& s = leaf(by).signatures[i];
      if (leaf(by).operands == 1 && s.input.in_sections()) return s.input;
      if (leaf(by).operands == 1 || !s.any_sections || !asked[by].in_sections()) continue;
      if (const Signature shares = in_sections(leaf(by), s, asked[by]); shares.output == asked[by]) return shares.operand((reader[l] - 1) % 2);
    }
    return laid::replicate;
  }
};

}  // namespace heddle::policy_room
