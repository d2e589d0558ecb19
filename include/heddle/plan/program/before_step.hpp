// SPDX-License-Identifier: MIT
// Room: plan. What ranks tell each other before any of them steps: one table of facts, which says of each how many floats it is and where they lie.
// Sees: the standard library.  Does not see: layouts, policies, processes.
// In: options of a plan.  Out: Fact, BeforeStep.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::plan_room {

/// What a rank finds by itself and every rank has to know before it steps, in the order in which they lie in the room of norms.
enum class Fact : std::uint8_t {
  squares,   // of this rank's gradients, one float a unit
  overflow,  // whether one of this rank's gradients is Inf or NaN without the scale of the loss
  loss       // whether a loss of this rank is not finite
};
inline constexpr int fact_count = static_cast<int>(Fact::loss) + 1;

/// Which facts a plan asks for. One that clips and is guarded has, with 3 units, 4 floats: three squares, and behind them the flag of the loss.
///
/// Tested  plan/program/before_step_test
struct BeforeStep {
  bool clips = false;
  bool scales_loss = false;
  bool guards = false;

  /// One line of the table: by which option a plan asks for a fact, of what ranks hold different ones, and how many floats it is.
  struct Row {
    bool BeforeStep::*asked;
    bool of_loss;       ///< else of gradients
    bool of_each_unit;  ///< else one float
  };
  static constexpr Row row(Fact fact) {
    constexpr Row table[fact_count] = {
        {&BeforeStep::clips, false, true}, {&BeforeStep::scales_loss, false, false}, {&BeforeStep::guards, true, false}};
    return table[static_cast<int>(fact)];
  }

  [[nodiscard]] constexpr bool has(Fact fact) const { return this->*row(fact).asked; }
  /// No rank steps before it has heard of all others.
  [[nodiscard]] constexpr bool any() const { return clips || scales_loss || guards; }
  /// A flag of all ranks says whether they step.
  [[nodiscard]] constexpr bool may_skip() const { return scales_loss || guards; }
  [[nodiscard]] constexpr int floats(Fact fact, int units) const { return !has(fact) ? 0 : row(fact).of_each_unit ? units : 1; }
  /// Where the floats of a fact begin: behind those of the facts before it.
  [[nodiscard]] constexpr int place(Fact fact, int units) const {
    int begin = 0;
    for (int f = 0; f < static_cast<int>(fact); ++f) begin += floats(static_cast<Fact>(f), units);
    return begin;
  }
  /// Of all facts.
  [[nodiscard]] constexpr int floats(int units) const { return place(Fact::loss, units) + floats(Fact::loss, units); }
  friend constexpr bool operator==(const BeforeStep&, const BeforeStep&) = default;
};

}  // namespace heddle::plan_room
