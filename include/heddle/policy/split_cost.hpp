// SPDX-License-Identifier: MIT
// Room: policy. What a way to split the leaves of a model over ranks costs: work, bytes that move, and what lies beside.
// Sees: graph/signature.  Does not see: memory, processes, instructions.
// In: two ways to lie, elements of a value.  Out: SplitCost.
#pragma once

#include <cstdint>

#include "heddle/graph/signature.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// What a choice of signatures costs: work and memory of products on every rank first, then elements moved; with what moves first nothing would be
/// split. Layers without parameters, vectors such as a bias and values are small beside products and what moves: they count last.
/// {8, 0, 6} is less than {8, 2, 0}: 2 elements that move cost more than 6 beside.
/// Tested  policy/split_cost_test
struct SplitCost {
  std::int64_t work = 0;
  std::int64_t moved = 0;
  std::int64_t beside = 0;
  [[nodiscard]] constexpr bool less(const SplitCost& other) const {
    if (work != other.work) return work < other.work;
    return moved != other.moved ? moved < other.moved : beside < other.beside;
  }
  [[nodiscard]] constexpr SplitCost plus(const SplitCost& other) const { return {work + other.work, moved + other.moved, beside + other.beside}; }
};

/// Elements of a value of `n` that a rank moves, in units of (N-1)/N: a sum in place 2 n, a sum scattered or parts gathered n, a part taken 0.
[[nodiscard]] constexpr std::int64_t moved_between(Laid from, Laid to, std::int64_t n) {
  if (from == to || from.replicated()) return 0;
  return from.partial() && to.replicated() ? 2 * n : n;
}

}  // namespace heddle::policy_room
