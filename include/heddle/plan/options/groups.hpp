// SPDX-License-Identifier: MIT
// Room: plan. Options of a plan that change the optimizer's options for some parameters: no weight decay, another learning rate.
// Sees: core, plan/options/plan_part.  Does not see: policies, graphs, optimizers, processes.
// In: names of parameters, factors.  Out: NoDecay<...>, LearningRateFactor<...>.
#pragma once

#include "heddle/core/text.hpp"
#include "heddle/plan/options/plan_part.hpp"

namespace heddle::plan_room {

/// These parameters get no weight decay: by their names NoDecay<"wte", "head.bias">, or, as NoDecay<>, all of fewer than two dimensions, which are
/// biases and the gains and shifts of norms. Both may stand in a plan, beside LearningRateFactor.
/// A name is one or more words of state_dict names, joined by dots: "head" means head.weight and head.bias, "norm" what is in every layer of that
/// name, "blocks.0" one block. A name that begins with a number stands at the front: "0" means 0.weight, and not blocks.0.weight.
///
/// Errors  L20 for a name that the model does not have, or in frozen layers alone, or twice; L22 for an optimizer whose Options have no weight_decay
/// Source  sources.md#parameter-groups
/// Tested  plan/options/groups_test, plan/lower/groups_test, golden/groups_test, equivalence/groups_test, fail/L20_name_not_there
template <Name... Names> struct NoDecay { static constexpr PlanPart plan_part = PlanPart::no_decay; };

/// The learning rate of these parameters is Numerator / Denominator of the optimizer's, in every step: LearningRateFactor<"backbone", 1, 10>. Weight
/// decay that multiplies by the learning rate, as that of AdamW, shrinks with it. Several may stand in a plan; of two names for one parameter the one
/// of more words counts, so "backbone.norm" is an exception to "backbone". Names are read as those of NoDecay.
///
/// Errors  L20 for a name that the model does not have, or in frozen layers alone, or two factors for one parameter; L21 for a factor
///         of 0 or below, or of what is no whole number; L22 for an optimizer whose Options have no learning_rate
/// Source  sources.md#parameter-groups
/// Tested  plan/options/groups_test, plan/lower/groups_test, golden/groups_test, equivalence/groups_test, fail/L21_factor_of_zero
template <Name Label, auto Numerator, auto Denominator = 1> struct LearningRateFactor {
  static constexpr PlanPart plan_part = PlanPart::learning_rate_factor;
};

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::LearningRateFactor, plan_room::NoDecay;
}  // namespace heddle
