// SPDX-License-Identifier: MIT
// Room: run. What a Trainer is given by mistake: options by the names of others or in order, the seed first, or no options at all.
// Sees: core.  Does not see: plans, backends.
// In: the arguments of a Trainer.  Out: O04.
#pragma once

#include <cstdint>

#include "heddle/core/units.hpp"

namespace heddle::inline run_room {

/// Options as they are called elsewhere, and Heddle's own without OnlyByName: what fits here alone is refused.
struct OptionsByMistake {
  double learning_rate, lr, alpha, eta, momentum, beta1, beta2, betas, epsilon, eps, dampening, weight_decay, wd, decay;
  bool nesterov;
};

/// O04, once for each Trainer; `Told` makes it wait for a call.
template <bool Told> constexpr void refuse_trainer_arguments() {
  static_assert(!Told,
                "[heddle.O04] a Trainer takes the options of its optimizer by name, then a Seed. Fix: write "
                "{.learning_rate = 1e-3}, Seed{1}; Adam has beta1, beta2, epsilon and weight_decay besides, MomentumSGD momentum.");
}

}  // namespace heddle::inline run_room
