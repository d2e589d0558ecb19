// SPDX-License-Identifier: MIT
// Room: graph. What a loss is: an empty struct that says which output and which targets it takes.
// Sees: core, graph/signature.  Does not see: policies, devices, memory.
// In: the Spec of the model's output.  Out: LossDescription, LossSplit, TargetRanges.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/graph/signature.hpp"

namespace heddle::graph_room {

/// A target of several losses of which some take class numbers and some real ones: a row of 1 label and 4 floats has 5 of them.
struct TargetValue {
  std::uint32_t bits = 0;

  constexpr TargetValue() = default;
  constexpr TargetValue(std::int32_t label) : bits(__builtin_bit_cast(std::uint32_t, label)) {}  // NOLINT(google-explicit-constructor)
  constexpr TargetValue(float value) : bits(__builtin_bit_cast(std::uint32_t, value)) {}         // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr std::int32_t label() const { return __builtin_bit_cast(std::int32_t, bits); }
  [[nodiscard]] constexpr float value() const { return __builtin_bit_cast(float, bits); }
  friend constexpr bool operator==(const TargetValue&, const TargetValue&) = default;
};

/// Element type of what the data gives beside the samples: four bytes each.
template <class Element>
concept TargetElement = std::same_as<Element, std::int32_t> || std::same_as<Element, float> || std::same_as<Element, TargetValue>;

/// A loss is a mean over the rows of a step: a sum over rows, divided once by the number of rows of all ranks.
///   using Target                                    std::int32_t (class numbers) or float; TargetValue of several losses
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
/// One that may leave none out, by its options, says so:   static constexpr bool leaves_out = false.
template <class L>
concept CountsTargets = LossDescription<L> && requires(std::int32_t target) {
  { L::counts(target) } -> std::same_as<bool>;
};

/// True of a loss each of whose targets counts.
template <class L> [[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool counts_target(std::int32_t target) {
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
  if constexpr (requires { requires !L::leaves_out; })
    return nullptr;
  else if constexpr (CountsTargets<L>)
    return &L::counts;
  else
    return nullptr;
}

/// The targets of a row that one loss reads, `first` and those behind it. CrossEntropy over 10 classes reads one class number.
struct TargetRange {
  std::int64_t first = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;      ///< of class numbers; 0: real numbers
  TargetCount counts = nullptr;  ///< which of them count; null: all
  bool weighs = false;           ///< classes have weights
  std::string_view name{};       ///< of one of several losses
  [[nodiscard]] constexpr bool reads(std::int64_t i) const { return i >= first && i < first + features; }
};

/// Of a row of targets what each loss reads; several losses may read the same. CrossEntropy has 1, Losses one for each of theirs.
struct TargetRanges {
  static constexpr int most = 8;
  TargetRange all[most]{};
  int count = 0;

  [[nodiscard]] constexpr bool several() const { return count > 1; }
  /// Whether some are class numbers.
  [[nodiscard]] constexpr bool labels() const { return fewest_classes() > 0; }
  /// The first of those that read target `i` of a row.
  [[nodiscard]] constexpr TargetRange reader_of(std::int64_t i) const {
    int k = 0;
    while (k + 1 < count && !all[k].reads(i)) ++k;
    return all[k];
  }
  /// Whether all that read target `i` of a row leave this one out.
  [[nodiscard]] constexpr bool leave_out(std::int64_t i, std::int32_t target) const {
    for (int k = 0; k < count; ++k)
      if (all[k].reads(i) && (all[k].counts == nullptr || all[k].counts(target))) return false;
    return true;
  }
  /// The fewest classes that one of them has; 0: none has classes.
  [[nodiscard]] constexpr std::int64_t fewest_classes() const {
    std::int64_t fewest = 0;
    for (int i = 0; i < count; ++i)
      if (all[i].classes > 0 && (fewest == 0 || all[i].classes < fewest)) fewest = all[i].classes;
    return fewest;
  }
  /// Of the loss whose classes have weights; 0: there is none.
  [[nodiscard]] constexpr std::int64_t weighed_classes() const {
    for (int i = 0; i < count; ++i)
      if (all[i].weighs) return all[i].classes;
    return 0;
  }
  constexpr TargetRanges& append(const TargetRange& range) {
    all[count++] = range;
    return *this;
  }
};

/// A loss that reads several ranges says which:   static constexpr TargetRanges target_ranges(output).
/// Tested  graph/loss_test
template <LossDescription L> [[nodiscard]] constexpr TargetRanges target_ranges_of(const Spec& output) {
  if constexpr (requires { L::target_ranges(output); })
    return L::target_ranges(output);
  else
    return TargetRanges{}.append({0, L::target_features(output), std::same_as<typename L::Target, std::int32_t> ? output.shape.last() : 0,
                                  target_count<L>(), weighs_classes<L>()});
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

namespace heddle {
using graph_room::TargetValue;
}  // namespace heddle
