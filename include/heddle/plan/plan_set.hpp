// SPDX-License-Identifier: MIT
// Room: plan. PlanSet: plans for several numbers of ranks in one program; which one runs is known only at start.
// Sees: plan, core/fire.  Does not see: processes, threads.
// In: plans of different numbers of devices.  Out: PlanSet, index_of a number of ranks.
#pragma once

#include <cstddef>

#include "heddle/core/fire.hpp"
#include "heddle/core/lists.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::inline plan_room {

/// True of what a question about a plan takes: a Plan, an Inference, or a type that derives from one.
template <class T> inline constexpr bool is_plan = Verdict<T>::found.code != Code{'L', 6};

/// L04, or the refusal of the first broken plan, word for word: it is the same rule<...> as that of the plan, so it stays one error.
template <class... Plans> struct CheckedSet {
  static constexpr Diagnosis find() {
    constexpr int count = sizeof...(Plans);
    if constexpr (count == 0) {
      return Diagnosis{Code{'L', 4}, "a PlanSet of no plans runs nowhere. Fix: name a plan."};
    } else if constexpr (!all_of({is_plan<Plans>...})) {
      constexpr bool plans[] = {is_plan<Plans>...};
      const Text<64> names[] = {type_name<Plans>()...};
      int first = 0;
      while (plans[first]) ++first;
      return Diagnosis{Code{'L', 4}, ""} << names[first].view() << " in a PlanSet is no Plan. Fix: name Plan<...> itself.";
    } else if constexpr (!all_of({check<Plans>().ok()...})) {
      Diagnosis first;
      sum_of({(first = first.ok() ? check<Plans>() : first, 0)...});
      return first;
    } else {
      constexpr int sizes[] = {devices<Plans>...};
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < i; ++j)
          if (sizes[i] == sizes[j])
            return Diagnosis{Code{'L', 4}, ""} << "plans " << j << " and " << i << " of the set both have " << sizes[i]
                                               << (sizes[i] == 1 ? " device" : " devices")
                                               << ", so the number of ranks does not choose. Fix: keep one of them.";
      return {};
    }
  }
  static constexpr Diagnosis found = find();
};

/// Plans of one program, of which the number of ranks chooses one at start: with_plan<Set>(ranks, run).
///
/// Errors  L04 if two plans have the same number of devices, or there is none; the error of a plan that is broken
/// Tested  plan/plan_set_test, run/with_plan_test, fail/L04_two_plans_of_one_size
template <class... Plans> struct PlanSet {
  static_assert(sizeof(fired<CheckedSet<Plans...>>) > 0);

  static constexpr int count = sizeof...(Plans);
  /// Numbers of devices in the order of the plans.
  static constexpr int sizes[std::size_t{count > 0 ? count : 1}] = {devices<Plans>...};
  /// Place of the plan with this number of devices, -1 if there is none.
  [[nodiscard]] static constexpr auto index_of(int ranks) {
    if constexpr (CheckedSet<Plans...>::found.ok()) {
      for (int i = 0; i < count; ++i)
        if (sizes[i] == ranks) return i;
      return -1;
    } else {
      return RefusedNumber{};
    }
  }
  /// "1, 2 and 4", smallest first.
  [[nodiscard]] static constexpr Text<160> list() {
    Text<160> words;
    int said = 0;
    for (int size = 0; said < count; ++said) {
      int next = -1;
      for (const int s : sizes)
        if (s > size && (next < 0 || s < next)) next = s;
      words << (said == 0 ? "" : said + 1 == count ? " and " : ", ") << next;
      size = next;
    }
    return words;
  }
};

}  // namespace heddle::inline plan_room
