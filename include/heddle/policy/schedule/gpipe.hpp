// SPDX-License-Identifier: MIT
// Room: policy. The order GPipe: all forwards, then all backwards.
// Sees: policy/layout.  Does not see: memory, processes.
// In: chunks and micro-batches.  Out: OrderRules and in-flight limits.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Forward of every micro-batch, then backward of every micro-batch. Idle (p-1)(F+B), in flight m.
///
/// Errors  S02 if there are fewer micro-batches than stages
/// Source  sources.md#gpipe
/// Tested  policy/schedule/gpipe_test, oracle/schedules_test
struct GPipe {
  static constexpr OrderRules rules() { return {Text<16>{"GPipe"}, true, true, true}; }
  static constexpr int in_flight(int /*chunk*/, int /*chunks*/, int micro_batches) { return micro_batches; }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::GPipe;
}  // namespace heddle
