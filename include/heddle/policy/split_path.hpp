// SPDX-License-Identifier: MIT
// Room: policy. Which signature each leaf uses on one axis, and how values lie between leaves: a shortest path, a block of a Repeat once.
// Sees: graph, core.  Does not see: memory, processes, instructions.
// In: a Graph, a number of ranks.  Out: for every leaf a signature and how its output lies between layers, or the leaf where no path goes on.
#pragma once

#include <cstdint>

#include "heddle/graph/graph.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// What a path costs: work and memory of products on every rank first, then elements moved; with what moves first nothing would be split. Layers
/// without parameters, vectors such as a bias and values are small beside products and what moves: they count last.
/// {8, 0, 6} is less than {8, 2, 0}: 2 elements that move cost more than 6 beside.
struct SplitCost {
  std::int64_t work = 0;
  std::int64_t moved = 0;
  std::int64_t beside = 0;
  [[nodiscard]] constexpr bool less(const SplitCost& other) const {
    if (work != other.work) return work < other.work;
    return moved != other.moved ? moved < other.moved : beside < other.beside;
  }
  [[nodiscard]] constexpr SplitCost plus(const SplitCost& other) const { return {work + other.work, moved + other.moved, beside + other.beside}; }
};

/// Elements of a value of `n` that a rank moves, in units of (N-1)/N: a sum in place 2 n, a sum scattered or parts gathered n, a part taken 0.
[[nodiscard]] constexpr std::int64_t moved_between(Laid from, Laid to, std::int64_t n) {
  if (from == to || from.replicated()) return 0;
  return from.partial() && to.replicated() ? 2 * n : n;
}

/// Paths over leaves 0, 1, 2, ...: each leaf has a signature, and its output lies in one way between layers, in which all that read it find it. What
/// more than the next leaf reads, the ends of repeated blocks and the output lie whole; or, where sequences are split, as parts along the first
/// dimension of a sample. The output may lie in parts as the loss takes them.
struct SplitPath {
  static constexpr int options = Leaf::most_signatures + 1;  // of a leaf: whole, then its signatures
  static constexpr int ways_between = 4;                     // of its output: whole, as it comes, along the sequence, in sections of its reader
  static constexpr int states = options * ways_between;
  static constexpr Laid sequence = laid::shard(0);

  const Graph& graph;
  int ranks = 1;
  bool splits_sequences = false;
  bool any_size = false;  ///< as if every size were divisible
  LossSplit loss{};
  bool ties_alike = false;
  Laid tied{};  ///< where ties are alike: how the first parameter of every leaf that shares its parameters lies

  bool shared[Layout::most_leaves]{};                // more than the next leaf reads what this one gives
  bool whole[Layout::most_leaves]{};                 // it cannot be split along the sequence
  bool reads_input[Layout::most_leaves]{};           // reads the input of the model
  bool in_tie[Layout::most_leaves]{};                // shares its parameters
  bool frozen[Layout::most_leaves]{};                // has parameters that are not trained
  int times[Layout::most_leaves]{};                  // nodes that run the leaf
  int inner[Layout::most_leaves]{};                  // those of them whose input needs a gradient
  std::int16_t read_from[Layout::most_leaves]{};     // 1 + the leaf whose output it reads as its first input, 0: the input of the model
  std::int16_t from[Layout::most_leaves][states]{};  // state of the leaf before, -1 if none leads here
  SplitCost cost[states]{};
  SplitCost least{};
  int stuck = -1;      ///< the leaf that no path enters
  int loss_leaf = -1;  ///< the leaf whose output the loss alone reads, and takes in parts

  [[nodiscard]] constexpr const Leaf& leaf(int l) const { return graph.leaves[l].leaf; }
  [[nodiscard]] constexpr int maker(int value) const { return graph.nodes[value - 1].leaf; }

  constexpr void study() {
    for (int l = 0; l < graph.leaf_count; ++l) {
      const Shape& out = leaf(l).out.shape;
      whole[l] = !splits_sequences || leaf(l).reshapes || out.dimensions < 2 || out.sizes[0] % ranks != 0;
    }
    const int untrained = graph.last_untrained();
    for (int n = 0; n < graph.node_count; ++n) {
      const int l = graph.nodes[n].leaf;
      ++times[l];
      frozen[l] = graph.frozen(n);
      if (graph.nodes[n].tied_to >= 0) in_tie[l] = in_tie[graph.nodes[graph.nodes[n].tied_to].leaf] = true;
      if (graph.nodes[n].operands[0] > untrained) ++inner[l];
      for (int k = 0; k < graph.nodes[n].operand_count; ++k) {
        const int value = graph.nodes[n].operands[k];
        if (k == 0) read_from[l] = static_cast<std::int16_t>(value == 0 ? 0 : maker(value) + 1);
        if (value == 0) {
          reads_input[l] = true;
        } else if (value != n || maker(value) != l - 1 || leaf(l).operands > 1) {  // not the one reader, next in line
          shared[maker(value)] = true;
          if (l > 0) shared[l - 1] = true;  // the same leaf reads that as well: both lie alike
        }
      }
    }
    const int last = graph.nodes[graph.node_count - 1].leaf;
    if (loss.takes.sharded() && !shared[last]) loss_leaf = last;
    shared[last] = whole[last] = true;
    while (spread_whole()) continue;
  }
  /// A leaf of two operands takes them as they lie, and this one cannot take parts of a sequence: it joins values along it.
  [[nodiscard]] constexpr bool joins_sequences(int l) const {
    bool takes_parts = leaf(l).operands == 1;
    for (int i = 0; i < leaf(l).signature_count; ++i) takes_parts = takes_parts || leaf(l).signatures[i].input == sequence;
    return !takes_parts;
  }
  /// Values that one leaf reads lie alike; what a reshape reads, or what is read beside the input of the model, is whole.
  constexpr bool spread_whole() {
    bool changed = false;
    for (int n = 0; n < graph.node_count; ++n) {
      const Node& node = graph.nodes[n];
      bool must = reads_input[node.leaf] || leaf(node.leaf).reshapes || joins_sequences(node.leaf);
      for (int k = 0; k < node.operand_count; ++k) must = must || (node.operands[k] > 0 && whole[maker(node.operands[k])]);
      reads_input[node.leaf] = reads_input[node.leaf] || must;
      for (int k = 0; k < node.operand_count; ++k) {
        if (!must || node.operands[k] == 0 || whole[maker(node.operands[k])]) continue;
        whole[maker(node.operands[k])] = changed = true;
      }
    }
    return changed;
  }
  [[nodiscard]] constexpr Signature signature(int l, int state) const {
    if (state / ways_between == 0) return {};
    const Signature& stated = leaf(l).signatures[state / ways_between - 1];
    return state % ways_between == 3 ? stated.in_sections_of(asked(l)) : stated;
  }
  /// The sections in which the one reader of what a leaf gives may take it; whole if there are none.
  [[nodiscard]] constexpr Laid asked(int l) const {
    if (l + 1 == graph.leaf_count || shared[l] || read_from[l + 1] != l + 1) return laid::replicate;
    const Leaf& reader = leaf(l + 1);
    for (int i = 0; i < reader.signature_count; ++i)
      if (reader.signatures[i].input.in_sections()) return reader.signatures[i].input;
    return laid::replicate;
  }
  [[nodiscard]] constexpr Laid laid_between(int l, int state) const {
    const int kind = state % ways_between;
    return kind == 0 ? laid::replicate : kind == 2 ? sequence : signature(l, state).output;
  }
  [[nodiscard]] constexpr bool legal(int l, int state) const {
    const int option = state / ways_between;
    if (option > leaf(l).signature_count || (option == 0 && leaf(l).by_hand)) return false;
    if (state % ways_between == 3 && (option == 0 || !leaf(l).signatures[option - 1].any_sections || !asked(l).in_sections())) return false;
    const Signature s = signature(l, state);
    const Laid to = laid_between(l, state);
    if (ties_alike && in_tie[l] && s.parameters[0] != tied) return false;
    if (state % ways_between == 1 && !s.output.sharded()) return false;
    if (state % ways_between == 2 && (whole[l] || s.output == sequence)) return false;  // as it comes is enough
    if (to.sharded() && s.output.sharded() && to != s.output) return false;
    if (leaf(l).reshapes && to != s.output) return false;
    const bool keeps_output = leaf(l).saves == Saves::output || leaf(l).saves == Saves::both;
    if (keeps_output && s.output.partial() && to.sharded()) return false;
    if (shared[l] && to != (whole[l] ? laid::replicate : sequence) && !(l == loss_leaf && to == loss.takes)) return false;
    return any_size || indivisible_size(leaf(l), s, ranks) == 0;
  }
  /// The leaf finds its input in `before`. A whole value is cut up for one reader if a person asks for it: a lone Row.
  [[nodiscard]] constexpr bool takes(int l, int state, Laid before) const {
    const Laid wanted = signature(l, state).input;
    const bool cut = before.replicated() && wanted.sharded() && !wanted.in_sections() && leaf(l).by_hand;
    return before == wanted || cut || (before == sequence && wanted.replicated() && splits_sequences && !leaf(l).reshapes && leaf(l).operands == 1);
  }
  [[nodiscard]] constexpr SplitCost price(int l, int state) const {
    const Signature s = signature(l, state);
    const Laid to = laid_between(l, state);
    const auto part = [&](std::int64_t size, bool split) { return split ? (size + ranks - 1) / ranks : size; };
    SplitCost c;
    c.beside += part(leaf(l).out.elements(), to.sharded());
    for (int p = 0; p < leaf(l).parameter_count; ++p) {
      const std::int64_t elements = leaf(l).parameters[p].shape.elements();
      (leaf(l).parameters[p].shape.dimensions > 1 ? c.work : c.beside) += part(elements, s.parameters[p].sharded());
      if (s.parameter_gradients[p].partial() && !frozen[l]) c.moved += 2 * elements;
    }
    c.moved += moved_between(s.output, to, leaf(l).out.elements()) + moved_between(to, s.output_gradient, leaf(l).out.elements());
    if (l == loss_leaf && to.sharded()) c.moved += ranks * loss.terms;
    SplitCost all{c.work * times[l], c.moved * times[l], c.beside * times[l]};
    const bool split = state / ways_between > 0;
    (leaf(l).parameter_count > 0 ? all.work : all.beside) +=
        part(leaf(l).forward_flops + (frozen[l] ? 0 : leaf(l).weight_flops), split) * times[l] + part(leaf(l).input_flops(), split) * inner[l];
    return all;
  }
  /// What entering a leaf costs beside: its input made as it takes it, the gradient as the value lies.
  [[nodiscard]] constexpr SplitCost entry_price(int l, int state, Laid before) const {
    const Signature s = signature(l, state);
    const std::int64_t n = leaf(l).in.elements();
    return {0, moved_between(before, s.input, n) * times[l] + moved_between(s.input_gradient, before, n) * inner[l],
            before == s.input ? 0 : n * times[l]};
  }
  /// How a leaf finds its input, where what the leaf before it gives lies as `last`. A branch reads what another one has read, not that.
  [[nodiscard]] constexpr Laid found_by(int l, Laid last) const {
    if (read_from[l] == l) return last;
    return read_from[l] == 0 || whole[read_from[l] - 1] ? laid::replicate : sequence;
  }
  /// One step of the path; false if nothing leads to this leaf.
  constexpr bool extend(int l) {
    SplitCost next[states]{};
    bool reached = false;
    for (int o = 0; o < states; ++o) {
      from[l][o] = -1;
      if (!legal(l, o)) continue;
      const SplitCost own = price(l, o);
      for (int b = 0; b < states; ++b) {
        if (l == 0 ? b > 0 : from[l - 1][b] < 0) continue;
        const Laid before = found_by(l, l == 0 ? laid::replicate : laid_between(l - 1, b));
        if (!takes(l, o, before)) continue;
        const SplitCost sum = cost[b].plus(own).plus(entry_price(l, o, before));
        if (from[l][o] >= 0 && !sum.less(next[o])) continue;
        next[o] = sum;
        from[l][o] = static_cast<std::int16_t>(b);
        reached = true;
      }
    }
    for (int o = 0; o < states; ++o) cost[o] = next[o];
    return reached;
  }
  /// The states of the cheapest path; false, with `stuck`, if there is none.
  constexpr bool solve(std::int8_t* chosen) {
    study();
    for (int l = 0; l < graph.leaf_count; ++l)
      if (!extend(l)) {
        stuck = l;
        return false;
      }
    int best = -1;
    const int last = graph.leaf_count - 1;
    for (int o = 0; o < states; ++o)
      if (from[last][o] >= 0 && (best < 0 || cost[o].less(cost[best]))) best = o;
    least = cost[best];
    for (int l = last; l >= 0; --l) {
      chosen[l] = static_cast<std::int8_t>(best);
      best = from[l][best];
    }
    return true;
  }
};

}  // namespace heddle::policy_room
