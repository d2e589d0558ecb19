// SPDX-License-Identifier: MIT
// Room: policy. The order of interleaved stages: V chunks on each device, micro-batches in groups of S.
// Sees: policy/layout.  Does not see: memory, processes.
// In: the position of a device.  Out: OrderRules and the turns of that device.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// V chunks on each of S devices, chunk c on the device of chunk c mod S; S micro-batches pass one chunk of a device, then its next.
/// Idle for (p-1)(F+B)/v, which is (p-1)/(v m+p-1) of a step; in flight on the first device min(mv, 2(p-1) + (v-1)p + 1) chunk passes.
///
/// Errors  M03 if chunks do not lie in turn on the devices, S08 if the micro-batches are no multiple of the devices
/// Source  sources.md#megatron-2021
/// Tested  policy/schedule/interleaved_test, oracle/schedules_test, equivalence/orders_test
template <int Chunks> struct Interleaved {
  static constexpr int chunks_per_device = Chunks;
  static constexpr OrderRules rules() { return {Text<16>{"Interleaved"}, true, false, true, true, false}; }
  static constexpr Turns turns(int position, int devices) { return {2 * (devices - 1 - position) + (Chunks - 1) * devices + 1, 0}; }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::Interleaved;
}  // namespace heddle
