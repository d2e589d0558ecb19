// SPDX-License-Identifier: MIT
// Room: core. What one rank sends in one collective, and in which order terms are added: what the ledger and every transport share.
// Sees: core/units.  Does not see: every other room.
// In: elements, members of the group, the position of the sender.  Out: elements owned, bytes and messages sent; SumOrder.
#pragma once

#include <cstdint>

#include "heddle/core/shape.hpp"
#include "heddle/core/units.hpp"

namespace heddle::core_room {

/// In which order terms are added: along the fixed binary tree over the ranks, whose bits another layout has too, or in any.
enum class SumOrder : std::uint8_t { any, tree };

/// Elements are owned in whole cache lines, so that no two positions write to the same one.
inline constexpr std::int64_t elements_per_line = 16;

/// First element that `position` owns: with L = ceil(elements/16) lines, position q owns lines [q L/n, (q+1) L/n), clipped to `elements`.
[[nodiscard]] constexpr std::int64_t ring_first_owned(std::int64_t elements, int members, int position) {
  const std::int64_t lines = (elements + elements_per_line - 1) / elements_per_line;
  const std::int64_t first = lines * position / members * elements_per_line;
  return first < elements ? first : elements;
}

[[nodiscard]] constexpr std::int64_t ring_elements_owned(std::int64_t elements, int members, int position) {
  return ring_first_owned(elements, members, position + 1) - ring_first_owned(elements, members, position);
}

/// Bytes of float32 that `position` sends in one all-reduce, a reduce-scatter followed by an all-gather.
///
/// Moves   what it does not own once, then what it owns to each other member; 2 (n-1) x elements x 4 over all positions   [bytes]
/// Tested  core/ring_volume_test
[[nodiscard]] constexpr Bytes ring_bytes_sent(std::int64_t elements, int members, int position) {
  const std::int64_t owned = ring_elements_owned(elements, members, position);
  return Bytes{float_bytes * ((elements - owned) + (members - 1) * owned)};
}

/// Messages that each position sends in one all-reduce: one per other member in either half.
[[nodiscard]] constexpr std::int64_t ring_messages_sent(int members) { return 2 * (static_cast<std::int64_t>(members) - 1); }

/// Bytes of float32 that each position sends in one reduce-scatter or one all-gather, whose slices are even: half of an all-reduce.
///
/// Moves   (n-1)/n x elements x 4                                                                                [bytes]
/// Tested  core/ring_volume_test
[[nodiscard]] constexpr Bytes half_ring_bytes_sent(std::int64_t elements, int members) {
  return Bytes{float_bytes * (elements / members * (members - 1))};
}
[[nodiscard]] constexpr std::int64_t half_ring_messages_sent(int members) { return static_cast<std::int64_t>(members) - 1; }

}  // namespace heddle::core_room
