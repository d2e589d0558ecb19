// SPDX-License-Identifier: MIT
// Room: policy. The order 1F1B: a backward as soon as one can run.
// Sees: policy/layout.  Does not see: memory, processes.
// In: chunks and micro-batches.  Out: OrderRules and in-flight limits.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// One forward, one backward. Idle (p-1)(F+B) as GPipe, but chunk c of p keeps only min(m, p - c) micro-batches in flight.
///
/// Errors  S02 if there are fewer micro-batches than stages
/// Source  sources.md#pipedream
/// Tested  policy/schedule/one_f_one_b_test, oracle/schedules_test
struct OneFOneB {
  static constexpr OrderRules rules() { return {Text<16>{"1F1B"}, true, false, true}; }
  static constexpr int in_flight(int chunk, int chunks, int micro_batches) {
    const int limit = chunks - chunk;
    return limit < micro_batches ? limit : micro_batches;
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::OneFOneB;
}  // namespace heddle
