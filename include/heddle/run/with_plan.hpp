// SPDX-License-Identifier: MIT
// Room: run. with_plan: the plan of a set that has as many devices as there are ranks, handed to a callable.
// Sees: plan/plan_set, run/world.  Does not see: threads, any backend.
// In: a PlanSet, a number of ranks, a generic callable.  Out: what the callable returns.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "heddle/plan/plan_set.hpp"
#include "heddle/run/error.hpp"
#include "heddle/run/world.hpp"

namespace heddle::inline run_room {

template <class Set> struct PlanChooser;
template <class First, class... Rest> struct PlanChooser<PlanSet<First, Rest...>> {
  template <class Run> static decltype(auto) choose(int ranks, Run& run) {
    using Set = PlanSet<First, Rest...>;
    using Result = std::invoke_result_t<Run&, First>;
    static_assert((std::is_same_v<Result, std::invoke_result_t<Run&, Rest>> && ...), "with_plan: the callable returns one type for every plan");
    const int chosen = Set::index_of(ranks);
    if (chosen < 0)
      throw Error(Code{'R', 3}, "there are " + std::to_string(ranks) + " ranks, but the set has plans for " + std::string{Set::list().view()} +
                                    ". Fix: start one of these numbers of ranks, or add a plan for " + std::to_string(ranks) + " to the PlanSet.");
    constexpr Result (*starts[])(Run&) = {[](Run& with) -> Result { return std::invoke(with, First{}); },
                                          [](Run& with) -> Result { return std::invoke(with, Rest{}); }...};
    return starts[chosen](run);
  }
};

/// Calls run(plan) with the plan of the set that has `ranks` devices; decltype(plan) is its type.
///
/// Errors  R03 with the numbers that the set has
/// Tested  run/with_plan_test
template <class Set, class Run> decltype(auto) with_plan(int ranks, Run&& run) { return PlanChooser<Set>::choose(ranks, run); }

/// The same with as many ranks as a launcher started processes; one without a launcher.
///
/// Errors  R03; R20 if the launcher's variables make no sense
template <class Set, class Run> decltype(auto) with_plan(Run&& run) {
  const World world = read_world();
  if (!world.fault.ok()) throw Error(world.fault);
  return with_plan<Set>(world.size, run);
}

}  // namespace heddle::inline run_room
