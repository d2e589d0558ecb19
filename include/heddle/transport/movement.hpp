// SPDX-License-Identifier: MIT
// Room: transport. The kinds of movement between ranks, and their names in sentences.
// Sees: the standard library.  Does not see: buffers, ranks, every other room.
// In: nothing.  Out: Movement.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/rooms.hpp"

namespace heddle::transport_room {

/// What moves: one buffer from a rank to another, or a collective of a group.
///
/// Tested  transport/movement_test
enum class Movement : std::uint8_t { point_to_point, all_reduce, reduce_scatter, all_gather };
inline constexpr int movements = 4;

[[nodiscard]] constexpr const char* name_of(Movement kind) {
  switch (kind) {
    case Movement::all_reduce: return "all-reduce";
    case Movement::reduce_scatter: return "reduce-scatter";
    case Movement::all_gather: return "all-gather";
    case Movement::point_to_point: break;
  }
  return "transfer";
}

[[nodiscard]] inline std::string describe_collective(Movement kind, int group) { return name_of(kind) + (" of group " + std::to_string(group)); }

}  // namespace heddle::transport_room
