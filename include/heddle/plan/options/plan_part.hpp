// SPDX-License-Identifier: MIT
// Room: plan. By what a type is known as a part of a plan: a member of a type that a model cannot have by accident.
// Sees: the standard library.  Does not see: models, policies, processes.
// In: -.  Out: PlanPart, DeclaresPlanPart.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::plan_room {

enum class PlanPart : std::uint8_t {
  unknown,
  model,
  loss,
  optimizer,
  batch,
  policy,
  grain,
  reproducible,
  accumulate,
  memory,
  bucket,
  clip,
  recompute,
  loss_scaling,
  no_decay,
  learning_rate_factor,
  mixed,
  guarded
};

[[nodiscard]] constexpr std::string_view name_of(PlanPart p) {
  constexpr std::string_view names[] = {"unknown part", "model",  "loss",   "optimizer", "Batch",     "policy",      "Grain",   "Reproducible",
                                        "Accumulate",   "Memory", "Bucket", "Clip",      "Recompute", "LossScaling", "NoDecay", "LearningRateFactor",
                                        "Mixed",        "Guarded"};
  return names[static_cast<int>(p)];
}
/// Options that say something of some parameters: each of several is kept.
[[nodiscard]] constexpr bool may_be_several(PlanPart p) { return p == PlanPart::no_decay || p == PlanPart::learning_rate_factor; }

/// A type that says itself which part of a plan it is: `static constexpr PlanPart plan_part = PlanPart::batch;`. The type of the member counts, so a
/// model with a member of any name stays a model.
template <class T>
concept DeclaresPlanPart = requires {
  { T::plan_part } -> std::same_as<const PlanPart&>;
};

}  // namespace heddle::plan_room
