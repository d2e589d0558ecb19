// SPDX-License-Identifier: MIT
// Room: plan. The short proof that lists cannot deadlock: their starts pair up in the order in which they stand.
// Sees: plan/program, plan/check/coverage.  Does not see: policies, processes, threads.
// In: a Program whose lines are sound, the chain of starts of each role.  Out: true if they pair up; false says nothing: execute the lists.
#pragma once

#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// True if, again and again, the next start of some role and the next start of its peer are the two ends of one transfer, until none is left.
///
/// Then the lists end under every lane model. Complete the pairs in the order in which they are found. When it is the turn of a pair, every start
/// that stands before one of its ends, on either device, is complete. So nothing is ahead of it in any lane, and every wait before it, whose own
/// start stands before it (LineCheck), has passed. Both ends are of one transfer, so their payloads agree; and since both lists are left in
/// order, the k-th start from a to b meets the k-th start of b for a. Lists in the paired form, which is what the lowering writes, pass; others
/// may be legal all the same. `next` has by role 1 + its first start, and `after` by start 1 + the next one of its list; 0 ends a chain.
/// Lines and both tables are pointers or the arrays that they are, which compilers read faster.
/// Tested  plan/check/paired_test
template <class Lines, class Chain, class Firsts>
[[nodiscard]] constexpr bool starts_pair_up(const Program& p, const Lines& lines, const Chain& after, Firsts&& next) {
  const int roles = p.roles;
  for (int first = 0; first < roles; ++first) {
    int role = first;
    int followed = 0;  // roles from one that waits to the one that it waits for
    while (next[first] > 0) {
      if (next[role] == 0) role = first;
      const int here = next[role] - 1;
      const int peer = lines[here].peer;
      const int there = next[peer] - 1;
      if (there < 0) return false;
      if (lines[there].peer == role && lines[there].transfer == lines[here].transfer && lines[there].micro_batch == lines[here].micro_batch &&
          lines[there].op != lines[here].op) {
        next[role] = after[here];
        next[peer] = after[there];
        followed = 0;
      } else {
        if (++followed > roles) return false;  // they wait in a circle
        role = peer;
      }
    }
  }
  return true;
}

}  // namespace heddle::plan_room
