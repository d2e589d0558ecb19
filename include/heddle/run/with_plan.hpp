// SPDX-License-Identifier: MIT
// Room: run. with_plan: the plan of a set that has a name, or as many devices as there are ranks, handed to a callable.
// Sees: seams, plan/plan_set, run/world.  Does not see: threads, any backend.
// In: a PlanSet, a name or a number of ranks, a generic callable.  Out: what the callable returns.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/plan_set.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<WithPlanHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::run_room {

template <class... Plans> CheckedSet<Plans...> checked_set_of(const PlanSet<Plans...>*);
template <class... Plans> std::type_identity<PlanSet<Plans...>> set_behind(const PlanSet<Plans...>*);

/// What refuses a set, or L04 of what is none.
template <class Asked> struct AskedSet {
  static constexpr Diagnosis find() {
    if constexpr (requires { checked_set_of(static_cast<Asked*>(nullptr)); })
      return decltype(checked_set_of(static_cast<Asked*>(nullptr)))::found;
    else
      return Diagnosis{Code{'L', 4}, ""} << type_name<Asked>().view()
                                         << " is no PlanSet, so the number of ranks has no plan to choose. Fix: write "
                                            "with_plan<PlanSet<Plan<...>, Plan<...>>>.";
  }
  static constexpr Diagnosis found = find();
};

template <class... Plans> struct AskedSet<PlanSet<Plans...>> : CheckedSet<Plans...> {};

template <class Set> struct PlanChooser;
template <class First, class... Rest> struct PlanChooser<PlanSet<First, Rest...>> {
  using Set = PlanSet<First, Rest...>;

  template <class Run> static decltype(auto) start(int chosen, Run& run) {
    static_assert(
        returns_one_type<Run>(),
        "[heddle.L18] with_plan takes a callable of one plan that returns the same type for each. Fix: write [](auto plan) { ... return 0; }.");
    if constexpr (returns_one_type<Run>()) {
      using Result = std::invoke_result_t<Run&, PlanIn<First>>;
      constexpr Result (*starts[])(Run&) = {[](Run& with) -> Result { return std::invoke(with, PlanIn<First>{}); },
                                            [](Run& with) -> Result { return std::invoke(with, PlanIn<Rest>{}); }...};
      return starts[chosen](run);
    } else {
      return RefusedNumber{};
    }
  }
  template <class Run> static constexpr bool returns_one_type() {
    if constexpr (std::is_invocable_v<Run&, PlanIn<First>> && (std::is_invocable_v<Run&, PlanIn<Rest>> && ...))
      return (std::is_same_v<std::invoke_result_t<Run&, PlanIn<First>>, std::invoke_result_t<Run&, PlanIn<Rest>>> && ...);
    else
      return false;
  }
  template <class Run> static decltype(auto) choose(int ranks, Run& run) {
    const int chosen = Set::index_of(ranks);
    if (chosen < 0 && Set::has(ranks))
      throw Error(Code{'R', 3}, written({"several plans of the set have ", ranks, (ranks == 1 ? " device" : " devices"),
                                         ", so their number does not choose. Fix: name one of ", listed(Set::names(ranks)).view(),
                                         ", as in with_plan<Set>(\"", *Set::names(ranks).begin(), "\", run)."}));
    if (chosen < 0)
      throw Error(Code{'R', 3}, written({"there are ", ranks, " ranks, but the set has plans for ", Set::list().view(),
                                         ". Fix: start one of these numbers of ranks, or add a plan for ", ranks, " to the PlanSet."}));
    return start(chosen, run);
  }
  template <class Run> static decltype(auto) choose(std::string_view name, Run& run) {
    const int chosen = Set::index_of(name);
    if (chosen < 0) refuse_name("the set has no plan named '" + std::string{quoted(name).view()} + "'; it has ");
    return start(chosen, run);
  }
  template <class Run> static decltype(auto) choose(const char* name, Run& run) {
    if (name == nullptr) refuse_name("no plan is named; the set has ");
    return choose(std::string_view{name}, run);
  }
  [[noreturn]] static void refuse_name(const std::string& what) {
    const bool none = Set::names().count == 0;
    throw Error(Code{'R', 3}, written({what, (none ? "no names" : std::string{listed(Set::names()).view()}),
                                       ". Fix: ", (none ? "write Choice<\"name\", Plan<...>> in the PlanSet." : "write one of these names.")}));
  }
};

/// Calls run(plan) with the plan of the set that has `ranks` devices; decltype(plan) is its type.
///
/// Errors  R03 with the numbers that the set has, or with the names of several plans of this number; at build L04 of what is no set,
///         L18 of a callable that returns several types or takes no plan
/// Tested  run/with_plan_test, fail/L04_with_plan_of_a_model, fail/L18_callable_of_two_types
template <class Set, class Run> decltype(auto) with_plan(int ranks, Run&& run) {
  heard(static_cast<fired<AskedSet<Set>>*>(nullptr));
  if constexpr (AskedSet<Set>::found.ok())
    return PlanChooser<typename decltype(set_behind(static_cast<Set*>(nullptr)))::type>::choose(ranks, run);
  else
    return RefusedNumber{};
}

/// Calls run(plan) with the plan of this name, as a user types it: with_plan<PlanSet<Choice<"stages", MyPlan>>>("stages", run).
///
/// Errors  R03 with the names that the set has; L04 at build of what is no set
/// Tested  run/with_plan_test
template <class Set, class Run> decltype(auto) with_plan(std::string_view name, Run&& run) {
  heard(static_cast<fired<AskedSet<Set>>*>(nullptr));
  if constexpr (AskedSet<Set>::found.ok())
    return PlanChooser<typename decltype(set_behind(static_cast<Set*>(nullptr)))::type>::choose(name, run);
  else
    return RefusedNumber{};
}

/// The same of a name as argv has it: null, if a program was given none, is no name.
///
/// Errors  R03; L04 at build of what is no set
/// Tested  run/with_plan_test
template <class Set, class Run> decltype(auto) with_plan(const char* name, Run&& run) {
  heard(static_cast<fired<AskedSet<Set>>*>(nullptr));
  if constexpr (AskedSet<Set>::found.ok())
    return PlanChooser<typename decltype(set_behind(static_cast<Set*>(nullptr)))::type>::choose(name, run);
  else
    return RefusedNumber{};
}

/// The same with as many ranks as a launcher started processes; one without a launcher.
///
/// Errors  R03; R20 if the launcher's variables make no sense
template <class Set, class Run> decltype(auto) with_plan(Run&& run) {
  const World world = read_world();
  if (!world.fault.ok()) throw Error(world.fault);
  return with_plan<Set>(world.size, run);
}

}  // namespace heddle::run_room

namespace heddle {
using run_room::with_plan;
}  // namespace heddle
