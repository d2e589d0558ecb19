// SPDX-License-Identifier: MIT
// Room: plan. PlanSet: several plans in one program; which one runs is known only at start, by a name or by the number of ranks.
// Sees: plan, core/fire.  Does not see: processes, threads.
// In: plans, with names where several have one number of devices.  Out: PlanSet, Choice, index_of a name or of a number of ranks.
#pragma once

#include <cstddef>
#include <string_view>

#include "heddle/core/fire.hpp"
#include "heddle/core/lists.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/text.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::plan_room {

/// True of what a question about a plan takes: a Plan, an Inference, or a type that derives from one.
template <class T> inline constexpr bool is_plan = Verdict<T>::found.code != Code{'L', 6};

/// A plan of a set under a name that a user can type: PlanSet<Choice<"replicas", A>, Choice<"stages", B>>.
///
/// Errors  L04 in a PlanSet if the name is empty, or that of another plan of the set
/// Tested  plan/plan_set_test, fail/L04_two_choices_of_one_name
template <Name Label, class ThePlan> struct Choice {};

/// The plan of an entry of a set, and its name; empty if it has none.
template <class Entry> struct SetEntry {
  using ThePlan = Entry;
  static constexpr bool named = false;
  [[nodiscard]] static constexpr std::string_view name() { return {}; }
};
template <Name Label, class Named> struct SetEntry<Choice<Label, Named>> {
  using ThePlan = Named;
  static constexpr bool named = true;
  static constexpr auto label = Label;
  [[nodiscard]] static constexpr std::string_view name() { return label.view(); }
};
template <class Entry> using PlanIn = typename SetEntry<Entry>::ThePlan;

/// What decides which plan of a set is chosen.
/// Plans of 1, 2 and 4 devices need no names; of two plans with 2 devices one needs a name.
template <int Count> struct SetFacts {
  int sizes[std::size_t{Count}]{};
  std::string_view names[std::size_t{Count}]{};
  bool named[std::size_t{Count}]{};

  /// L04: every name chooses one plan, and so does every number of ranks among the plans without a name.
  [[nodiscard]] constexpr Diagnosis check() const {
    for (int i = 0; i < Count; ++i) {
      if (named[i] && names[i].empty())
        return Diagnosis{Code{'L', 4}, ""} << "plan " << i << " of the set has an empty name. Fix: give it a name that a user can type.";
      for (int j = 0; j < i; ++j) {
        if (named[i] && named[j] && names[i] == names[j])
          return Diagnosis{Code{'L', 4}, ""} << "plans " << j << " and " << i << " of the set are both named '" << quoted(names[i]).view()
                                             << "', so the name does not choose. Fix: give each a name of its own.";
        if (!named[i] && !named[j] && sizes[i] == sizes[j])
          return Diagnosis{Code{'L', 4}, ""} << "plans " << j << " and " << i << " of the set both have " << sizes[i]
                                             << (sizes[i] == 1 ? " device" : " devices")
                                             << ", so the number of ranks does not choose. Fix: keep one of them, or name them: Choice<\"name\", "
                                                "Plan<...>>.";
      }
    }
    return {};
  }
};

/// L04, or the refusal of the first broken plan, word for word: it is the same rule<...> as that of the plan, so it stays one error.
template <class... Entries> struct CheckedSet {
  static constexpr Diagnosis find() {
    constexpr int count = sizeof...(Entries);
    if constexpr (count == 0) {
      return Diagnosis{Code{'L', 4}, "a PlanSet of no plans runs nowhere. Fix: name a plan."};
    } else if constexpr (!all_of({is_plan<PlanIn<Entries>>...})) {
      constexpr bool plans[] = {is_plan<PlanIn<Entries>>...};
      const Text<64> names[] = {type_name<PlanIn<Entries>>()...};
      int first = 0;
      while (plans[first]) ++first;
      return Diagnosis{Code{'L', 4}, ""} << names[first].view() << " in a PlanSet is no Plan. Fix: name Plan<...> itself.";
    } else if constexpr (!all_of({check<PlanIn<Entries>>().ok()...})) {
      Diagnosis first;
      sum_of({(first = first.ok() ? check<PlanIn<Entries>>() : first, 0)...});
      return first;
    } else {
      return SetFacts<count>{{devices<PlanIn<Entries>>...}, {SetEntry<Entries>::name()...}, {SetEntry<Entries>::named...}}.check();
    }
  }
  static constexpr Diagnosis found = find();
};

/// The names of a set in the order of its plans; those without a name are left out.
/// A set of "alone", "two" and a plan without a name has 2.
template <int Count> struct SetNames {
  std::string_view names[std::size_t{Count > 0 ? Count : 1}]{};
  int count = 0;
  [[nodiscard]] constexpr const std::string_view* begin() const { return names; }
  [[nodiscard]] constexpr const std::string_view* end() const { return names + count; }
};

/// Plans of one program, of which a name or the number of ranks chooses one at start: with_plan<Set>("stages", run), with_plan<Set>(ranks, run).
/// Plans of one number of devices have names: PlanSet<Choice<"replicas", A>, Choice<"stages", B>>.
///
/// Errors  L04 if two plans have one name, or no name and one number of devices, or there is none; the error of a plan that is broken
/// Tested  plan/plan_set_test, run/with_plan_test, fail/L04_two_plans_of_one_size
template <class... EntriesSuchAsChoiceOfNameAndPlan> struct PlanSet {  // types: Choice<"stages", MyPlan>, not "stages", MyPlan
  static_assert(sizeof(fired<CheckedSet<EntriesSuchAsChoiceOfNameAndPlan...>>) > 0);

  static constexpr int count = sizeof...(EntriesSuchAsChoiceOfNameAndPlan);
  /// Numbers of devices in the order of the plans.
  static constexpr int sizes[std::size_t{count > 0 ? count : 1}] = {devices<PlanIn<EntriesSuchAsChoiceOfNameAndPlan>>...};

  /// Place of the plan that this number of devices chooses: the one that has it, or the one of them without a name; -1 if there is none.
  [[nodiscard]] static constexpr auto index_of(int ranks) {
    if constexpr (CheckedSet<EntriesSuchAsChoiceOfNameAndPlan...>::found.ok()) {
      constexpr bool named[] = {SetEntry<EntriesSuchAsChoiceOfNameAndPlan>::named...};
      int found = -1;
      for (int i = 0, before = 0; i < count; ++i) {
        if (sizes[i] != ranks) continue;
        if (!named[i]) return i;
        found = before++ == 0 ? i : -1;
      }
      return found;
    } else {
      return RefusedNumber{};
    }
  }
  /// Place of the plan with this name, -1 if there is none.
  [[nodiscard]] static constexpr auto index_of(std::string_view name) {
    if constexpr (CheckedSet<EntriesSuchAsChoiceOfNameAndPlan...>::found.ok()) {
      constexpr std::string_view names[] = {SetEntry<EntriesSuchAsChoiceOfNameAndPlan>::name()...};
      for (int i = 0; i < count && !name.empty(); ++i)
        if (names[i] == name) return i;
      return -1;
    } else {
      return RefusedNumber{};
    }
  }
  /// Whether any plan has this number of devices, also one that only its name can choose.
  [[nodiscard]] static constexpr bool has(int ranks) {
    for (const int size : sizes)
      if (size == ranks) return true;
    return false;
  }
  /// For an option of a program: for (const std::string_view name : Set::names()) ...; those of one number of devices: Set::names(2).
  [[nodiscard]] static constexpr SetNames<count> names(int ranks = 0) {
    SetNames<count> list;
    constexpr std::string_view all[] = {std::string_view{}, SetEntry<EntriesSuchAsChoiceOfNameAndPlan>::name()...};
    for (int i = 0; i < count; ++i)
      if (!all[i + 1].empty() && (ranks == 0 || sizes[i] == ranks)) list.names[list.count++] = all[i + 1];
    return list;
  }
  /// "1, 2 and 4", smallest first.
  [[nodiscard]] static constexpr Text<160> list() {
    Text<160> words;
    for (int last = 0, size = least_above(0); size > 0; last = size, size = least_above(size))
      words << (last == 0 ? "" : least_above(size) < 0 ? " and " : ", ") << size;
    return words;
  }

 private:
  [[nodiscard]] static constexpr int least_above(int size) {
    int next = -1;
    for (const int s : sizes)
      if (s > size && (next < 0 || s < next)) next = s;
    return next;
  }
};

/// "replicas, stages and both"
template <int Count> [[nodiscard]] constexpr Text<200> listed(const SetNames<Count>& names) {
  Text<200> words;
  for (int i = 0; i < names.count; ++i) words << (i == 0 ? "" : i + 1 == names.count ? " and " : ", ") << quoted(names.names[i]).view();
  return words;
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::Choice, plan_room::PlanSet;
}  // namespace heddle
