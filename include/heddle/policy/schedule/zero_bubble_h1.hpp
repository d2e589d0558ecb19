// SPDX-License-Identifier: MIT
// Room: policy. The order ZB-H1: a backward in two parts; gradients of parameters wait until a device would be idle.
// Sees: policy/layout.  Does not see: memory, processes.
// In: the position of a device.  Out: OrderRules and the turns of that device.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// The gradient of a stage's input goes back at once, those of its parameters follow later, at position r by r micro-batches.
/// Idle (p-1) max(F, I, F+I-W) with a backward B = I + W: F+I-W while W is the least of them, as with F = I = W. In flight are min(m, p)
/// micro-batches on every device until their parameters' gradients are made.
///
/// Errors  M03 if a device has two stages, S02 if there are fewer micro-batches than stages, G14 if a kernel has no backward in two parts
/// Source  sources.md#zero-bubble
/// Tested  policy/schedule/zero_bubble_h1_test, oracle/schedules_test, equivalence/orders_test, equivalence/sharded_zero_bubble_test
struct ZeroBubbleH1 {
  static constexpr int chunks_per_device = 1;
  static constexpr OrderRules rules() { return {Text<16>{"ZeroBubbleH1"}, true, false, true, true, true}; }
  static constexpr Turns turns(int position, int devices) { return {devices - position, position}; }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::ZeroBubbleH1;
}  // namespace heddle
