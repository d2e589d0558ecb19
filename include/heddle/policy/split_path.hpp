// SPDX-License-Identifier: MIT
// Room: policy. Which signature each leaf uses on one axis, and how values lie between leaves: the cheapest on the graph, a block of a Repeat once.
// Sees: graph, core, policy/split_cost.  Does not see: memory, processes, instructions.
// In: a Graph, a number of ranks.  Out: for every leaf a signature and how its output lies between layers, or the leaf where nothing fits.
#pragma once

#include <cstdint>

#include "heddle/graph/graph.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/policy/split_cost.hpp"
#include "heddle/policy/split_graph.hpp"

namespace heddle::policy_room {

/// Each leaf has a signature, and its output lies in one way between layers, in which all that read it find it. Leaves up to a value that several
/// read are a tree, as branches are up to where they are joined: its choices are the cheapest from its leaves to its root. If every reader of a value
/// leaves a term of its gradient, these may be summed once, where the value is made. The output may lie in parts as the loss takes them.
/// Of Linear<8, 6>, ReLU, Linear<6, 4> over 2 ranks the leaves have states 5, 5 and 8: by columns as it comes, along dimension 0, by rows to a whole.
struct SplitPath : SplitGraph {
  static constexpr int options = Leaf::most_signatures + 1;  // of a leaf: whole, then its signatures
  static constexpr int ways_between = 4;                     // of its output: whole, as it comes, along the sequence, in sections of its reader
  static constexpr int states = options * ways_between;

  bool any_size;  ///< as if every size were divisible
  bool ties_alike;
  Laid tied;  ///< where ties are alike: how the first parameter of every leaf that shares its parameters lies

  /// What the states of a leaf cost whose reader is still to come; 20 of them.
  struct Open {
    int leaf = -1;
    SplitCost cost[states]{};
    Laid lies[states]{};
  };
  Open open[most_open]{};
  bool summed_once[Layout::most_leaves]{};           // readers of the output leave terms of its gradient
  std::int16_t from[Layout::most_leaves][states]{};  // states of the leaves it reads: of the first + states x of the second; -1 if it cannot be
  std::int8_t end[Layout::most_leaves]{};            // of a shared leaf: its cheapest state
  SplitCost least{};
  int stuck = -1;  ///< the leaf that nothing fits

  constexpr explicit SplitPath(const Graph& of, int parts, bool sequences = false, bool as_if_divisible = false, const LossSplit& of_loss = {},
                               bool alike = false, Laid how = {})
      : SplitGraph(of, parts, sequences, of_loss), any_size(as_if_divisible), ties_alike(alike), tied(how) {}

  [[nodiscard]] constexpr Signature signature(int l, int state) const {
    if (state / ways_between == 0) return {};
    const Signature& stated = leaf(l).signatures[state / ways_between - 1];
    return state % ways_between == 3 ? in_sections(leaf(l), stated, asked[l]) : stated;
  }
  /// How a value lies that several read.
  [[nodiscard]] constexpr Laid lies(int l) const { return summed_once[l] ? laid::terms_back : whole[l] ? laid::replicate : sequence(l); }
  [[nodiscard]] constexpr Laid laid_between(int l, int state) const {
    const int kind = state % ways_between;
    return kind == 0 ? (summed_once[l] ? laid::terms_back : laid::replicate) : kind == 2 ? sequence(l) : signature(l, state).output;
  }
  [[nodiscard]] constexpr bool legal(int l, int state) const {
    const int option = state / ways_between;
    const int kind = state % ways_between;
    if (option > leaf(l).signature_count || (option == 0 && leaf(l).by_hand)) return false;
    if (kind == 3 && (option == 0 || !leaf(l).signatures[option - 1].any_sections || !asked[l].in_sections())) return false;
    const Signature s = signature(l, state);
    const Laid to = laid_between(l, state);
    if (ties_alike && in_tie[l] && s.parameters[0] != tied) return false;
    if (kind == 1 && !s.output.sharded()) return false;
    if (kind == 2 && (whole[l] || s.output == sequence(l))) return false;  // as it comes is enough
    if (kind == 3 && to != laid::in_sections_of(asked[l], to)) return false;
    if ((to.sharded() || s.output.in_sections()) && s.output.sharded() && to != s.output) return false;  // no sections are gathered
    if (leaf(l).reshapes && to != s.output) return false;
    const bool keeps_output = leaf(l).saves == Saves::output || leaf(l).saves == Saves::both;
    if (keeps_output && s.output.partial() && to.sharded()) return false;
    if (shared[l] && to != lies(l) && !(l == loss_leaf && to == loss.takes)) return false;
    return any_size || indivisible_size(leaf(l), s, ranks) == 0;
  }
  /// The leaf finds an operand as `before`. A whole value is cut up for one reader if a person asks for it: a lone Row.
  [[nodiscard]] constexpr bool takes(int l, int state, int k, Laid before) const {
    const Signature s = signature(l, state);
    const Laid wanted = s.operand(k);
    if (before == laid::terms_back) return wanted.replicated() && s.operand_gradient(k).partial();
    const bool cut = before.replicated() && wanted.sharded() && !wanted.in_sections() && leaf(l).by_hand;
    const bool gathered = wanted.replicated() && splits_sequences && !leaf(l).reshapes && leaf(l).operands == 1 && source[l][k] > 0;
    return before == wanted || cut || (gathered && before == sequence(source[l][k] - 1));
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
    c.moved += moved_between(s.output, to.there(), leaf(l).out.elements()) + moved_between(to.back(), s.output_gradient, leaf(l).out.elements());
    if (l == loss_leaf && to.sharded()) c.moved += ranks * loss.terms;
    SplitCost all{c.work * times[l], c.moved * times[l], c.beside * times[l]};
    const bool split = state / ways_between > 0;
    (leaf(l).parameter_count > 0 ? all.work : all.beside) +=
        part(leaf(l).forward_flops + (frozen[l] ? 0 : leaf(l).weight_flops), split) * times[l] + part(leaf(l).input_flops(), split) * inner[l];
    return all;
  }
  /// What entering a leaf costs beside: its input made as it takes it, the gradient as the value lies. A second operand is taken as it lies.
  [[nodiscard]] constexpr SplitCost entry_price(int l, int state, int k, Laid before) const {
    if (k > 0) return {};
    const Signature s = signature(l, state);
    const Laid there = before.there();
    const std::int64_t n = leaf(l).in.elements();
    return {0, moved_between(there, s.input, n) * times[l] + moved_between(s.input_gradient, before.back(), n) * inner[l],
            there == s.input ? 0 : n * times[l]};
  }
  /// How a value lies that is the input, or that several read.
  [[nodiscard]] constexpr bool fixed(int made) const { return made == 0 || shared[made - 1]; }
  [[nodiscard]] constexpr Laid found(int made) const { return made == 0 ? laid::replicate : lies(made - 1); }

  /// Adds the least that an operand costs in state `o`, with the state of the leaf that gives it; false if it cannot be taken so.
  constexpr bool enter(int l, int o, int k, SplitCost& sum, int& state) const {
    const int made = source[l][k];
    state = 0;
    if (fixed(made)) {
      if (!takes(l, o, k, found(made))) return false;
      sum = sum.plus(entry_price(l, o, k, found(made)));
      return true;
    }
    const Open& of = waiting_for(made - 1);
    bool any = false;
    SplitCost cheapest{};
    for (int b = 0; b < states; ++b) {
      if (from[made - 1][b] < 0 || !takes(l, o, k, of.lies[b])) continue;
      const SplitCost all = of.cost[b].plus(entry_price(l, o, k, of.lies[b]));
      if (any && !all.less(cheapest)) continue;
      any = true;
      cheapest = all;
      state = b;
    }
    sum = sum.plus(cheapest);
    return any;
  }
  [[nodiscard]] constexpr const Open& waiting_for(int l) const {
    int i = 0;
    while (open[i].leaf != l) ++i;
    return open[i];
  }
  constexpr Open& place_for(int l) {
    for (int k = 0; k < leaf(l).operands; ++k)
      for (Open& each : open)
        if (!fixed(source[l][k]) && each.leaf == source[l][k] - 1) each.leaf = -1;
    int i = 0;
    while (open[i].leaf >= 0) ++i;
    return open[i];
  }
  /// The costs of all states of a leaf; false if nothing fits. A shared leaf ends in its cheapest one, others stay open for their reader.
  constexpr bool extend(int l) {
    SplitCost next[states]{};
    int best = -1;
    for (int o = 0; o < states; ++o) {
      from[l][o] = -1;
      if (!legal(l, o)) continue;
      next[o] = price(l, o);
      int code = 0;
      bool fits = true;
      for (int k = 0, times_k = 1, state = 0; k < leaf(l).operands && fits; ++k, times_k *= states) {
        fits = enter(l, o, k, next[o], state);
        code += times_k * state;
      }
      if (!fits) continue;
      from[l][o] = static_cast<std::int16_t>(code);
      if (best < 0 || next[o].less(next[best])) best = o;
    }
    if (best < 0) return false;
    Open& here = place_for(l);
    if (shared[l]) {
      end[l] = static_cast<std::int8_t>(best);
      least = least.plus(next[best]);
      return true;
    }
    here.leaf = l;
    for (int o = 0; o < states; ++o) {
      here.cost[o] = next[o];
      if (from[l][o] >= 0) here.lies[o] = laid_between(l, o);
    }
    return true;
  }
  /// False, with `stuck`, if nothing fits.
  constexpr bool walk() {
    least = {};
    for (Open& each : open) each.leaf = -1;
    for (int l = 0; l < graph.leaf_count; ++l)
      if (!extend(l)) {
        stuck = l;
        return false;
      }
    return true;
  }
  /// The cheapest states; false, with `stuck`, if there are none. Sums that may be taken once are, one after another, where that costs less.
  constexpr bool solve(std::int8_t* chosen) {
    study();
    bool fits = walk();
    bool walked = true;
    for (int l = 0; l < graph.leaf_count; ++l) {
      if (!may_sum_once(l)) continue;
      const SplitCost before = least;
      summed_once[l] = true;
      const bool now = walk();
      walked = now && (!fits || least.less(before));
      if (walked) {
        fits = true;
        continue;
      }
      summed_once[l] = false;
      least = before;
    }
    if (!walked) fits = walk();
    if (!fits) return false;
    for (int l = graph.leaf_count - 1; l >= 0; --l) {
      if (shared[l]) chosen[l] = end[l];
      int code = from[l][chosen[l]];
      for (int k = 0; k < leaf(l).operands; ++k, code /= states)
        if (!fixed(source[l][k])) chosen[source[l][k] - 1] = static_cast<std::int8_t>(code % states);
    }
    return true;
  }
};

}  // namespace heddle::policy_room
