// SPDX-License-Identifier: MIT
// Room: plan. Whether two plans end with the same parameters, to the last bit, and if not, why: everything that decides the order of a sum.
// Sees: plan, graph, policy answers.  Does not see: processes, threads, kernels.
// In: two plans.  Out: same_bits<A, B>(), require_same_bits<A, B>; B12 with the first difference and what would remove it.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::plan_room {

/// Yes, or the reason why not: static_assert(same_bits<A, B>()), or same_bits<A, B>().text as a value.
struct SameBits {
  Diagnosis difference;
  Sentence text = difference.sentence();  ///< empty if there is none
  [[nodiscard]] constexpr bool ok() const { return difference.ok(); }
  constexpr explicit operator bool() const { return ok(); }
};

/// The first node in which two graphs compute something else, or start with other parameters; -1 if there is none. Names do not count.
[[nodiscard]] constexpr int first_difference(const Graph& a, const Graph& b) {
  if (a.input != b.input) return 0;
  for (int n = 0; n < a.node_count || n < b.node_count; ++n) {
    if (n >= a.node_count || n >= b.node_count) return n;
    const Node& left = a.nodes[n];
    const Node& right = b.nodes[n];
    bool alike = a.leaves[left.leaf].type == b.leaves[right.leaf].type && left.operand_count == right.operand_count &&
                 left.tied_to == right.tied_to && left.parameter_count == right.parameter_count && left.frozen_count == right.frozen_count;
    for (int k = 0; k < left.operand_count && alike; ++k) alike = left.operands[k] == right.operands[k];
    if (!alike) return n;
  }
  return -1;
}

/// Blocks are the units over which a norm is summed.
[[nodiscard]] constexpr bool same_units(const Graph& a, const Graph& b) {
  for (int n = 0; n < a.node_count; ++n)
    if ((a.nodes[n].block < 0) != (b.nodes[n].block < 0) ||
        (n > 0 && (a.nodes[n].block == a.nodes[n - 1].block) != (b.nodes[n].block == b.nodes[n - 1].block)))
      return false;
  return true;
}

[[nodiscard]] constexpr bool same_cuts(const Layout& a, const Layout& b) {
  if (a.chunk_count != b.chunk_count) return false;
  for (int c = 0; c < a.chunk_count; ++c)
    if (a.first_node[c] != b.first_node[c]) return false;
  return true;
}

/// Gradients of whole parameters of which each rank of axis tensor has a term: summed over the ranks once a step, or in every backward.
[[nodiscard]] constexpr bool sums_terms_of_parameters(const Graph& split) {
  for (int n = 0; n < split.node_count; ++n)
    for (int k = 0; k < split.nodes[n].parameter_count; ++k)
      if (split.signature(n).parameter_gradients[k].partial()) return true;
  return false;
}

/// What decides the bits that a plan ends with, besides its types.
struct BitFacts {
  const Graph& graph;  ///< of whole layers
  const Program& program;
  const Layout& layout;
  const BatchRequest& request;
  /// What would be wrong with a Grain of so many rows.
  [[nodiscard]] constexpr Diagnosis refusal_of(int grain) const {
    BatchRequest named = request;
    named.grain_rows = grain;
    return divide_batch(layout, named).fault;
  }
  [[nodiscard]] constexpr const BatchDivision& batch() const { return program.batch; }
  /// Rows of a full batch that are counted.
  [[nodiscard]] constexpr int counted_rows() const {
    return batch().remedy == Remedy::drop || batch().remedy == Remedy::pad ? batch().capacity() : batch().batch;
  }
};

/// Compares two plans of the same loss and optimizer, fact by fact.
struct BitComparison {
  const BitFacts& a;
  const BitFacts& b;

  [[nodiscard]] static constexpr Diagnosis because() { return Diagnosis{Code{'B', 12}, "the plans do not end with the same bits: "}; }
  [[nodiscard]] constexpr Diagnosis models() const {
    const int n = first_difference(a.graph, b.graph);
    if (n < 0) return {};
    Diagnosis found = because() << "their models " << a.graph.model.view() << " and " << b.graph.model.view() << " differ from layer " << n
                                << " on. Fix: give both the same model.";
    return found;
  }
  [[nodiscard]] constexpr Diagnosis rows() const {
    const auto refuse = [&](std::string_view what, int first, int second) {
      return because() << what << first << " and " << second << " rows. Fix: name the same Batch in both";
    };
    if (a.batch().batch != b.batch().batch) return refuse("batches of ", a.batch().batch, b.batch().batch) << '.';
    if (a.batch().remedy != b.batch().remedy)
      return because() << "a smaller batch is taken in two ways. Fix: name the same remedy in both, or none: Batch<" << a.batch().batch
                       << ", KeepLast>.";
    if (a.counted_rows() != b.counted_rows())
      return refuse("of a batch they count ", a.counted_rows(), b.counted_rows()) << " and KeepLast, or a batch that divides.";
    return {};
  }
  [[nodiscard]] constexpr Diagnosis options() const {
    const auto refuse = [](std::string_view what) { return because() << "one of them " << what << " in both or in neither."; };
    if (a.program.graph->values != b.program.graph->values) return refuse("keeps values as bfloat16. Fix: name Mixed<BFloat16>");
    if (a.program.clips != b.program.clips) return refuse("clips its gradients. Fix: name Clip<GlobalNorm>");
    if (a.program.groups.clips_values != b.program.groups.clips_values) return refuse("clips each value. Fix: name Clip<EachValue>");
    if (a.program.scales_loss != b.program.scales_loss) return refuse("scales its loss. Fix: name LossScaling");
    for (int n = 0; n < a.graph.node_count; ++n)
      for (int k = a.graph.nodes[n].first_parameter; k < a.graph.nodes[n].first_parameter + a.graph.nodes[n].parameter_count; ++k)
        if (a.program.groups.of(k) != b.program.groups.of(k))
          return because() << "weight decay or learning rate of parameter '" << a.graph.parameter_name(n, k - a.graph.nodes[n].first_parameter).view()
                           << "' differ. Fix: name the same NoDecay and LearningRateFactor in both.";
    if (!a.program.clips) return {};
    if (!same_units(a.graph, b.graph))
      return because() << "they clip by a norm that is summed over other units. Fix: write the same Repeat and OneUnit in both models.";
    if ((cuts_a_unit(a.graph, a.layout) || cuts_a_unit(b.graph, b.layout)) && !same_cuts(a.layout, b.layout))
      return because() << "they clip, and a cut goes through a block whose squares the other adds as one unit. Fix: cut between blocks.";
    return {};
  }
  [[nodiscard]] constexpr Diagnosis splits() const {
    const int first = a.program.mesh.size(Axis::tensor);
    const int second = b.program.mesh.size(Axis::tensor);
    if (first != second)
      return because() << "axis tensor has " << first << " and " << second
                       << " ranks, which add the terms of a product in different orders. Fix: use the same TensorParallel in both.";
    if (first == 1) return {};
    for (int n = 0; n < a.graph.node_count; ++n) {
      const int left = a.graph.nodes[n].leaf;
      const int right = b.graph.nodes[n].leaf;
      if (a.layout.signature[left] != b.layout.signature[right] || a.layout.laid_between[left] != b.layout.laid_between[right])
        return because() << a.graph.describe(n).view() << " is split in two ways over axis tensor. Fix: use the same TensorParallel in both.";
    }
    if (a.batch().ranks != b.batch().ranks && sums_terms_of_parameters(*a.program.graph))
      return because() << "their batch is split over " << a.batch().ranks << " and " << b.batch().ranks
                       << " ranks, each of which first sums over axis tensor what its ranks made of a whole parameter. Fix: split the batch over as "
                          "many ranks in both, or drop SequenceParallel.";
    if (a.program.clips && a.graph.tie_count > 0 && a.program.roles != b.program.roles)
      return because() << "they clip, layers share parameters, and the gradients of split ones are summed over " << a.program.roles << " and "
                       << b.program.roles << " stages. Fix: use as many stages in both, or drop Clip.";
    if (a.program.storage.gradients != b.program.storage.gradients && sums_terms_of_parameters(*a.program.graph))
      return because() << "one of them sums gradients over axis tensor in every backward, the other once a step. Fix: slice gradients in both or in "
                          "neither.";
    return {};
  }
  /// Where rows of a micro-batch of all ranks are normalised together, both have the same rows in each.
  [[nodiscard]] constexpr Diagnosis micro_batches() const {
    const int first = a.batch().total_micro_batches(), second = b.batch().total_micro_batches();
    if (first == second && (first == 1 || a.batch().ranks == b.batch().ranks)) return {};
    for (int n = 0; n < a.graph.node_count; ++n) {
      if (!a.graph.runs_phases(n)) continue;
      const Diagnosis found = because() << a.graph.describe(n).view() << " normalises the rows of a micro-batch of all ranks together, and ";
      if (first != second)
        return Diagnosis{found} << "they make " << first << " and " << second << " micro-batches of a batch. Fix: make as many in both.";
      return Diagnosis{found} << "a micro-batch of " << a.batch().ranks << " ranks has other rows than one of " << b.batch().ranks
                              << ". Fix: let as many ranks split the batch in both, or make one micro-batch in both.";
    }
    return {};
  }
  /// The grain that both plans would take: a common divisor of theirs, or a power of two of grains a rank; 0 if there is none.
  [[nodiscard]] constexpr int grain_of_both(int common) const {
    for (const int rows : {common, a.batch().rank_rows(), b.batch().rank_rows()})
      for (int grain = rows;; grain /= 2) {
        if (a.refusal_of(grain).ok() && b.refusal_of(grain).ok()) return grain;
        if (grain % 2 != 0) break;
      }
    return 0;
  }
  /// The remedy that removes a difference of grains, or why none does.
  [[nodiscard]] constexpr Diagnosis advise_grain(Diagnosis found, int common) const {
    if (const int grain = grain_of_both(common); grain > 0) return found << ". Fix: name Grain<" << grain << "> in both.";
    const Diagnosis refused = a.refusal_of(common).ok() ? b.refusal_of(common) : a.refusal_of(common);
    std::string_view why = refused.words.view();
    const auto reason = why.find(", but ");  // "sums are to be reproducible, but ... Fix: ..., or drop Grain and Reproducible."
    why.remove_prefix(reason == std::string_view::npos ? 0 : reason + 6);
    if (const auto end = why.find(", or drop Grain"); end != std::string_view::npos) why = why.substr(0, end);
    return found << ", and Grain<" << common << "> cannot be named in both: " << why << (why.ends_with('.') ? "" : ".");
  }
  [[nodiscard]] constexpr Diagnosis sums() const {
    const auto unequal = [](const BitFacts& facts) { return facts.batch().share_count > 0; };
    if (unequal(a) || unequal(b)) return because() << "replicas take unequal shares of the batch. Fix: use DataParallel in both.";
    const int first = a.batch().grain_rows;
    const int second = b.batch().grain_rows;
    const int common = common_divisor(first, second);
    if (first != second) return advise_grain(because() << "grains of " << first << " and " << second << " rows", common);
    if (!a.program.training || (a.batch().tree && b.batch().tree)) return {};
    return advise_grain(
        because() << (a.batch().tree ? "the second" : "the first") << " adds gradients one after another, not along the tree over grains", common);
  }
  [[nodiscard]] constexpr Diagnosis find() const {
    if (const Diagnosis found = models(); !found.ok()) return found;
    if (a.program.training != b.program.training) return because() << "only one of them trains. Fix: compare two Plans, or two Inferences.";
    if (a.program.training) {
      if (const Diagnosis found = rows(); !found.ok()) return found;
      if (const Diagnosis found = options(); !found.ok()) return found;
    }
    if (const Diagnosis found = splits(); !found.ok()) return found;
    if (a.program.training)
      if (const Diagnosis found = micro_batches(); !found.ok()) return found;
    return sums();
  }
};

/// Holds the first difference of two plans that decides bits, B12; or nothing.
template <class A, class B> struct ComparedBits {
  template <class ThePlan> static constexpr BitFacts facts_of() {
    return {graph_of<typename ThePlan::Request::Model>, ThePlan::training, ThePlan::Request::layout, ThePlan::Request::batch_request};
  }
  template <class First, class Second> static constexpr Diagnosis other(std::string_view what) {
    return BitComparison::because() << what << ' ' << type_name<First>().view() << " and " << type_name<Second>().view()
                                    << ". Fix: name the same in both.";
  }
  static constexpr Diagnosis find() {
    if constexpr (std::is_same_v<A, B> || !Verdict<A>::found.ok() || !Verdict<B>::found.ok()) {
      return {};  // the same lists; or the refusal is told instead
    } else {
      constexpr BitFacts a = facts_of<A>();
      constexpr BitFacts b = facts_of<B>();
      if constexpr (A::training.training && B::training.training) {
        if constexpr (!std::is_same_v<typename A::Request::Loss, typename B::Request::Loss>)
          return other<typename A::Request::Loss, typename B::Request::Loss>("losses");
        else if constexpr (!std::is_same_v<typename A::Request::Optimizer, typename B::Request::Optimizer>)
          return other<typename A::Request::Optimizer, typename B::Request::Optimizer>("optimizers");
      }
      return BitComparison{a, b}.find();
    }
  }
  static constexpr Diagnosis found = find();
};

/// The question of same_bits<A, B>().
template <class A, class B> struct AskSameBits : NotAsked {
  [[nodiscard]] constexpr SameBits operator()() const {
    heard(Refusal<A>{});
    heard(Refusal<B>{});
    return {ComparedBits<A, B>::found};
  }
};

/// True if two plans that start with one seed, and see the same batches and options, end with the same parameters, to the last bit; for two
/// Inferences, if outputs are. Compared: model, loss, optimizer, batch, how a smaller one is taken, grain, tree, shares, clipping and its units, loss
/// scaling, groups of parameters, splits over axis tensor. Buckets, orders, Recompute, slices and the number of ranks on other axes change no bit. It
/// holds for one binary on one kind of processor. Where it is false bits may still agree; nothing promises it.
///
/// Errors  L12 without the call; B12 is the code of the reason; L06 and the refusals of the plans
/// Source  sources.md#reproducible-sums
/// Tested  plan/same_bits_test, equivalence/, fail/L12_same_bits_not_called
template <class A, class B> inline constexpr AskSameBits<A, B> same_bits{};

/// static_assert(require_same_bits<A, B>()): the reason as the one error.
///
/// Errors  B12 at build
/// Tested  plan/same_bits_test, fail/B12_two_grains
template <class A, class B> struct require_same_bits {
  static_assert(sizeof(fired<Verdict<A>>) > 0 && sizeof(fired<Verdict<B>>) > 0 && sizeof(fired<ComparedBits<A, B>>) > 0);
  constexpr explicit operator bool() const { return true; }
};

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::same_bits;
}  // namespace heddle

namespace heddle::extending {
using plan_room::require_same_bits;
}  // namespace heddle::extending
