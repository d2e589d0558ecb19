// SPDX-License-Identifier: MIT
// Room: policy. TensorParallel: the ranks of axis tensor share the work of single leaves; which signature each leaf uses.
// Sees: graph, mesh, policy/split_path.  Does not see: memory, processes, instructions.
// In: a Graph and the size of axis tensor.  Out: a claim and a signature for every leaf; P01, P02, P03, P05.
#pragma once

#include "heddle/core/type_name.hpp"
#include "heddle/policy/layout.hpp"
#include "heddle/policy/split_path.hpp"

namespace heddle::policy_room {

[[nodiscard]] constexpr int first_node_of(const Graph& graph, int leaf) {
  int n = 0;
  while (graph.nodes[n].leaf != leaf) ++n;
  return n;
}

/// P01: a layer is to be split into parts of unequal size.
[[nodiscard]] constexpr Diagnosis refuse_size(const Graph& graph, int leaf, const Signature& how, int ranks) {
  const std::int64_t size = indivisible_size(graph.leaves[leaf].leaf, how, ranks);
  auto found = Diagnosis{Code{'P', 1}, ""} << "TensorParallel<" << ranks << "> cannot split the ";
  write_indivisible(found, how, ranks, size);
  found << " of " << graph.describe(first_node_of(graph, leaf)).view() << " evenly. Fix: use as many ranks as divide " << size << ": ";
  write_divisors(found, size);
  return found << '.';
}

/// Why no path is left: P01 where a size alone forbids it, else P02.
[[nodiscard]] constexpr Diagnosis refuse_path(const Graph& graph, const SplitPath& path) {
  const Leaf& here = path.leaf(path.stuck);
  for (int i = 0; i < here.signature_count; ++i)
    if (indivisible_size(here, here.signatures[i], path.ranks) != 0) return refuse_size(graph, path.stuck, here.signatures[i], path.ranks);
  return Diagnosis{Code{'P', 2}, ""} << graph.describe(first_node_of(graph, path.stuck)).view() << " is to be split by hand and takes "
                                     << here.signatures[0].input << " and gives " << here.signatures[0].output
                                     << ", of which one cannot lie so here. Fix: let the policy choose how it is split.";
}

/// P05 or P01: no layer is split at all.
[[nodiscard]] constexpr Diagnosis refuse_nothing(const Graph& graph, int ranks, bool sequences, const LossSplit& loss) {
  SplitPath ideal{graph, ranks, sequences, true, loss};
  std::int8_t chosen[Layout::most_leaves]{};
  if (ideal.solve(chosen))
    for (int l = 0; l < graph.leaf_count; ++l)
      if (const Signature how = ideal.signature(l, chosen[l]); indivisible_size(ideal.leaf(l), how, ranks) != 0)
        return refuse_size(graph, l, how, ranks);
  return Diagnosis{Code{'P', 5}, ""} << "TensorParallel<" << ranks << "> finds nothing to split in " << graph.model.view() << ", so its " << ranks
                                     << " ranks would all do the same work. Fix: use another policy, or layers that state how they may be split.";
}

/// P03: the first signature in the model that cannot be.
[[nodiscard]] constexpr Diagnosis refuse_signature(const Graph& graph) {
  for (int l = 0; l < graph.leaf_count; ++l)
    for (int i = 0; i < graph.leaves[l].leaf.signature_count; ++i)
      if (const Diagnosis found = check_signature(graph.leaves[l].leaf, graph.leaves[l].leaf.signatures[i]); !found.ok()) {
        return Diagnosis{found.code, ""} << "signature " << i << " of " << graph.describe(first_node_of(graph, l)).view() << ' '
                                         << found.words.view();
      }
  return {};
}

/// Every leaf that uses the parameters of another lays them, and their gradients, as that one does.
[[nodiscard]] constexpr bool ties_agree(const Graph& graph, const SplitPath& path, const std::int8_t* chosen) {
  for (int n = 0; n < graph.node_count && graph.tie_count > 0; ++n) {
    if (graph.nodes[n].tied_to < 0) continue;
    const int l = graph.nodes[n].leaf;
    const int owner = graph.nodes[graph.nodes[n].tied_to].leaf;
    const Signature a = path.signature(l, chosen[l]);
    const Signature b = path.signature(owner, chosen[owner]);
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
      if (a.parameters[p] != b.parameters[p] || a.parameter_gradients[p] != b.parameter_gradients[p]) return false;
  }
  return true;
}

/// The cheapest path on which leaves that share parameters lay them alike, whole or as parts. Errors  G16 if there is none
[[nodiscard]] constexpr Diagnosis align_ties(const Graph& graph, const SplitPath& path, std::int8_t* chosen) {
  bool any = false;
  SplitCost least;
  for (const Laid how : {laid::replicate, laid::shard(0), laid::shard(1)}) {
    SplitPath other{graph, path.ranks, path.splits_sequences, false, path.loss, true, how};
    std::int8_t states[Layout::most_leaves]{};
    if (!other.solve(states) || !ties_agree(graph, other, states) || (any && !other.least.less(least))) continue;
    any = true;
    least = other.least;
    for (int l = 0; l < graph.leaf_count; ++l) chosen[l] = states[l];
  }
  if (any) return {};
  int tied = 0;
  while (graph.nodes[tied].tied_to < 0) ++tied;
  return Diagnosis{Code{'G', 16}, ""} << graph.describe(tied).view() << " uses the parameters of " << graph.describe(graph.nodes[tied].tied_to).view()
                                      << ", but TensorParallel<" << path.ranks
                                      << "> finds no way to split both alike. Fix: split neither by hand, or both in the same way.";
}

constexpr void choose_signatures(const Graph& graph, Layout& layout, int ranks, bool sequences) {
  layout.splits_sequences = sequences;
  if (graph.leaf_count > Layout::most_leaves)
    return layout.refuse(Diagnosis{Code{'P', 5}, ""} << graph.model.view() << " has " << graph.leaf_count
                                                     << " different layers, TensorParallel splits at most " << Layout::most_leaves
                                                     << ". Fix: write equal blocks as one Repeat.");
  if (const Diagnosis found = refuse_signature(graph); !found.ok()) return layout.refuse(found);
  SplitPath path{graph, ranks, sequences, false, layout.loss};
  std::int8_t chosen[Layout::most_leaves]{};
  if (!path.solve(chosen)) return layout.refuse(refuse_path(graph, path));
  if (!ties_agree(graph, path, chosen))
    if (const Diagnosis found = align_ties(graph, path, chosen); !found.ok()) return layout.refuse(found);
  bool splits = false;
  for (int l = 0; l < graph.leaf_count; ++l) {
    layout.signature[l] = static_cast<std::int8_t>(chosen[l] / SplitPath::ways_between);
    layout.laid_between[l] = path.laid_between(l, chosen[l]);
    splits = splits || layout.signature[l] > 0;
  }
  if (!splits) layout.refuse(refuse_nothing(graph, ranks, sequences, layout.loss));
}

/// TensorParallel<N, SequenceParallel>: values that skip ahead lie in N parts along the first dimension of a sample, not whole on every rank, also
/// while they are kept for the backward: what it reads whole is gathered again.
struct SequenceParallel {
  static constexpr bool splits_sequences = true;
};
/// What lies between split layers is whole on every rank; TensorParallel<2> names it by default.
struct WholeSequences {
  static constexpr bool splits_sequences = false;
};

/// Splits products over the ranks of axis tensor, in pairs: one by columns, the next by rows, with one sum of a value in each direction.
///
/// Attention between the two is split by heads: the first then gives each rank its part of queries, of keys and of values.
///
/// Shape   batch (B, ...) stays (B, ...) on every rank; values between the two layers of a pair become (B, Features/N), weights 1/N
/// Moves   per pair and direction 2 (N-1)/N x rows x features; none backward where the input needs no gradient   [elements]
///         with SequenceParallel, parts are gathered before a pair and its terms summed and scattered after it: the same bytes; and
///         (N-1)/N x rows x features more where the backward reads the input of a pair, of which each rank has kept its part;
///         of logits that lie in parts only what CrossEntropy says
/// Errors  P01 a size that N does not divide, P02 Column and Row that do not fit, P03 a signature that cannot be, P05 nothing to split,
///         G16 layers with the same parameters that cannot be split alike
/// Source  sources.md#megatron
/// Tested  policy/tensor_parallel_test, equivalence/tensor_parallel_test
template <int Ranks, class Sequences = WholeSequences> struct TensorParallel {
  static constexpr void answer(const Graph& graph, Layout& layout) {
    layout.claim(axis::tensor, Ranks);
    if constexpr (!requires { Sequences::splits_sequences; })
      return layout.refuse(Diagnosis{Code{'M', 4}, ""} << type_name<Sequences>().view()
                                                       << " is no part of TensorParallel. Fix: use SequenceParallel, or nothing.");
    else if (layout.fault.ok() && graph.fault.ok() && graph.node_count > 0 && Ranks > 1)
      choose_signatures(graph, layout, Ranks, Sequences::splits_sequences);
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::SequenceParallel, policy_room::TensorParallel;
}  // namespace heddle
