// SPDX-License-Identifier: MIT
// Room: graph. What a loss is: an empty struct that says which output and which targets it takes.
// Sees: core.  Does not see: policies, devices, memory.
// In: the Spec of the model's output.  Out: LossDescription.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"

namespace heddle::inline graph_room {

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

}  // namespace heddle::inline graph_room
