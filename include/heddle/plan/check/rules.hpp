// SPDX-License-Identifier: MIT
// Room: plan. The rules that need no more than a Program, in the order in which they are asked: one list for the compiler and for a running program.
// Sees: core.  Does not see: Programs, how a rule is asked.
// In: what answers for each Rule.  Out: the first that is broken.
#pragma once

#include "heddle/core/rule.hpp"

namespace heddle::plan_room {

/// In the order in which they are asked. A switch over it that leaves one out is warned of.
enum class Rule {
  ranges,         ///< S20
  lines,          ///< S04, S05, S06
  reductions,     ///< S06
  slices,         ///< S11
  clipping,       ///< S12
  loss_scaling,   ///< S13
  guarding,       ///< S21
  ties,           ///< S09
  placements,     ///< P04
  slots,          ///< S15
  same_on_ranks,  ///< S16
  values,         ///< S17, of values and their gradients
  steps,          ///< S17, of gradients of parameters
  rendezvous,     ///< S03
  collectives,    ///< S18, of what lines and entries move
};
inline constexpr int rule_count = static_cast<int>(Rule::collectives) + 1;

/// Asks rule after rule until one is broken; `ask` shows a Diagnosis of each. Null if none is.
///
/// A Program whose slices and whose slots are wrong is S11: slices stand before slots.
/// Tested  plan/check/rules_test
template <class Ask> [[nodiscard]] constexpr const Diagnosis* first_broken(Ask&& ask) {
  for (int r = 0; r < rule_count; ++r)
    if (const Diagnosis& found = ask(static_cast<Rule>(r)); !found.ok()) return &found;
  return nullptr;
}

}  // namespace heddle::plan_room
