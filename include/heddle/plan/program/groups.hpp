// SPDX-License-Identifier: MIT
// Room: plan. Parameter groups as data: what a group makes of the options of an optimizer, which group a parameter has, what is stepped at once.
// Sees: core.  Does not see: graph, policies, optimizers, processes, threads.
// In: the lowering.  Out: ParameterGroup, ParameterGroups, StepPiece.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::plan_room {

/// What becomes of the options of an optimizer for some parameters: learning_rate x numerator / denominator, and weight_decay, or 0.
/// Biases of LearningRateFactor<"backbone", 1, 10> beside NoDecay<> have {1, 10, false}.
struct ParameterGroup {
  int numerator = 1;
  int denominator = 1;
  bool decays = true;

  [[nodiscard]] constexpr bool scales() const { return numerator != denominator; }
  friend constexpr bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

/// The groups of a plan, and by parameter of its graph which one it has: a view. A plan that names none has count 0; else group 0 is of parameters
/// that no option names. Uses of tied parameters have the group of their owner.
/// NoDecay<> beside Linear<4, 3> has count 2: the weight is of group 0, {1, 1, true}, the bias of group 1, {1, 1, false}.
struct ParameterGroups {
  const ParameterGroup* list = nullptr;
  const std::int16_t* of_parameter = nullptr;
  int count = 0;
  bool clips_values = false;  ///< each element of a gradient is clipped before it is stepped

  [[nodiscard]] constexpr bool any() const { return count > 0; }
  [[nodiscard]] constexpr int number_of(int parameter) const { return any() ? of_parameter[parameter] : 0; }
  [[nodiscard]] constexpr ParameterGroup of(int parameter) const { return any() ? list[of_parameter[parameter]] : ParameterGroup{}; }
};

/// Elements of a bucket that one call of the optimizer's kernel steps, or as many of them as lie in the slice of a rank. Linear<16, 16> under
/// NoDecay<> has {bucket 0, group 0, elements 0 to 255} and {bucket 0, group 1, 256 to 1,023}: padding is of the group before it.
struct StepPiece {
  std::int16_t bucket = 0;
  std::int16_t group = 0;
  std::int64_t begin = 0;  // [elements], from the start of the bucket
  std::int64_t elements = 0;

  [[nodiscard]] constexpr std::int64_t end() const { return begin + elements; }
  friend constexpr bool operator==(const StepPiece&, const StepPiece&) = default;
};

}  // namespace heddle::plan_room
