// SPDX-License-Identifier: MIT
// Room: core. Sums over the types of a pack without a fold: clang 14 folds at most 256, and a list of layers or stages may be longer.
// Sees: the standard library.  Does not see: every other room.
// In: {f<T>()...}.  Out: sum_of, all_of.
#pragma once

#include <initializer_list>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// sum_of({count<Parts>()...}). Calls in order are such a list too: sum_of({(visit<Parts>(), 0)...}).
constexpr int sum_of(std::initializer_list<int> numbers) {
  int sum = 0;
  for (const int number : numbers) sum += number;
  return sum;
}
[[nodiscard]] constexpr bool all_of(std::initializer_list<bool> answers) {
  for (const bool answer : answers)
    if (!answer) return false;
  return true;
}

}  // namespace heddle::core_room
