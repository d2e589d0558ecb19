// SPDX-License-Identifier: MIT
// Room: graph. What a loss is: an empty struct that says which output and which targets it takes.
// Sees: core, graph/signature.  Does not see: policies, devices, memory.
// In: the Spec of the model's output.  Out: LossDescription, LossSplit.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/graph/signature.hpp"

namespace heddle::graph_room {

/// Element type of what the data gives beside the samples.
template <class Element>
concept TargetElement = std::same_as<Element, std::int32_t> || std::same_as<Element, float>;

/// A loss is a mean over the rows of a step: a sum over rows, divided once by the number of rows of all ranks.
///   using Target                                    std::int32_t (class numbers) or float
///   static constexpr Diagnosis accepts(output)      ok, or G03 in one sentence
///   static constexpr std::int64_t target_features(output)   targets per row
///   static constexpr std::int64_t flops(output)             per row, value and gradient
template <class L>
concept LossDescription = TargetElement<typename L::Target> && requires(const Spec& output) {
  { L::name() } -> std::convertible_to<std::string_view>;
  { L::accepts(output) } -> std::same_as<Diagnosis>;
  { L::target_features(output) } -> std::same_as<std::int64_t>;
  { L::flops(output) } -> std::same_as<std::int64_t>;
};

/// A loss that also takes the output in parts, one on each rank of an axis. Every rank makes terms of its part, the terms of all ranks are gathered,
/// and of these every rank makes the whole loss and the gradient of its own part: the output itself is never gathered.
///   static constexpr Laid splits(output)                    the dimension along which the parts lie
///   static constexpr std::int64_t terms(output)             floats that a rank tells of one row
/// Its kernel has   static void terms(const LossCall&)   beside sum (P07).
template <class L>
concept SplitLossDescription = LossDescription<L> && requires(const Spec& output) {
  { L::splits(output) } -> std::same_as<Laid>;
  { L::terms(output) } -> std::same_as<std::int64_t>;
};

/// A loss of class numbers, some of which count nothing: they have no loss and no gradient, and the mean is that over the others.
///   static constexpr bool counts(target)                    whether a target has a loss
template <class L>
concept CountsTargets = LossDescription<L> && requires(std::int32_t target) {
  { L::counts(target) } -> std::same_as<bool>;
};

/// True of a loss each of whose targets counts.
template <class L> [[nodiscard]] constexpr bool counts_target(std::int32_t target) {
  if constexpr (CountsTargets<L>)
    return L::counts(target);
  else
    return (static_cast<void>(target), true);
}
/// True of a loss whose classes have weights:   static constexpr bool weighs_classes = true.
template <class L> [[nodiscard]] constexpr bool weighs_classes() {
  if constexpr (requires { L::weighs_classes; })
    return L::weighs_classes;
  else
    return false;
}
/// The function that asks a loss which targets count; null of one that leaves none out.
using TargetCount = bool (*)(std::int32_t target);
template <class L> [[nodiscard]] constexpr TargetCount target_count() {
  if constexpr (CountsTargets<L>)
    return &L::counts;
  else
    return nullptr;
}

/// How a loss takes an output that is not whole.
/// CrossEntropy over 10 classes takes it in parts along dimension 0, and a rank tells 3 terms of one row.
struct LossSplit {
  Laid takes;  ///< Replicate: whole only
  std::int64_t terms = 0;
};

/// Tested  graph/loss_test
template <class L> [[nodiscard]] constexpr LossSplit split_of_loss(const Spec& output) {
  LossSplit split;
  if constexpr (SplitLossDescription<L>)
    if (L::accepts(output).ok()) split = LossSplit{L::splits(output), L::terms(output)};
  return split;
}

}  // namespace heddle::graph_room
