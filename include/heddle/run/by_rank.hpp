// SPDX-License-Identifier: MIT
// Room: run. Questions about one device of a plan whose number is known only at run time, so that a program can loop over its devices.
// Sees: seams, plan.  Does not see: any backend, threads.
// In: a plan, a Rank.  Out: peak_memory<Plan>(Rank), sent<Plan>(Rank); L07 of a rank that is not there.
#pragma once

#include <concepts>
#include <type_traits>

#include "heddle/core/not_included.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<ByRankHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::run_room {

/// Throws L07 of a rank that a plan does not have.
constexpr void require_rank(const Program& p, Rank rank) {
  const int n = p.mesh.ranks();
  if (rank.value < 0 || rank.value >= n)
    throw Error(Code{'L', 7}, written({"rank ", rank.value, " is not there: the plan has ", n, (n == 1 ? " device" : " devices"),
                                       ", counted from 0. Fix: ask about rank ", n - 1, " or one before it."}));
}

template <class Number> constexpr void refuse_plain_rank() {
  static_assert(std::is_void_v<Number>,
                "[heddle.L07] a device is asked for by a plain number. Fix: write Rank{r}, or device<0> if the number is known at build.");
}

/// What peak_memory<ThePlan>(device<0>) says, of a number from run time: for (int r = 0; r < devices<MyPlan>; ++r) peak_memory<MyPlan>(Rank{r}).
///
/// Errors  L07 thrown if the plan has no such rank, an error in a constant expression; L06
/// Tested  run/by_rank_test, fail/L07_number_for_a_rank
template <class ThePlan> [[nodiscard]] constexpr auto peak_memory(Rank rank) {
  heard(Refusal<ThePlan>{});
  if constexpr (Verdict<ThePlan>::found.ok()) {
    require_rank(ThePlan::training, rank);
    return Answers<ThePlan>::memory(ThePlan::training.mesh.coordinate(rank, Axis::stage));
  } else {
    return RefusedBytes{};
  }
}

/// L07, of peak_memory<MyPlan>(r) with a plain number.
template <class ThePlan, std::integral Number> [[nodiscard]] constexpr RefusedBytes peak_memory(Number) {
  refuse_plain_rank<Number>();
  return {};
}

/// Bytes that one device sends in a step, padding included: to other stages, in collectives over values, gradients and parameters, and for a norm.
/// The loss, which only reporting steps reduce, is left out. traffic<ThePlan>() has each of them by itself.
///
/// Errors  L07 thrown if the plan has no such rank, an error in a constant expression; L06
/// Tested  run/by_rank_test
template <class ThePlan> [[nodiscard]] constexpr auto sent(Rank rank) {
  heard(Refusal<ThePlan>{});
  if constexpr (Verdict<ThePlan>::found.ok()) {
    require_rank(ThePlan::training, rank);
    return traffic<ThePlan>().sent(rank);
  } else {
    return RefusedBytes{};
  }
}

/// L07, as of peak_memory.
template <class ThePlan, std::integral Number> [[nodiscard]] constexpr RefusedBytes sent(Number) {
  refuse_plain_rank<Number>();
  return {};
}

}  // namespace heddle::run_room

namespace heddle {
using run_room::peak_memory;
}  // namespace heddle

namespace heddle::extending {
using run_room::sent;
}  // namespace heddle::extending
