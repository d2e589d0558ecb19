// SPDX-License-Identifier: MIT
// Room: transport. The kinds of movement between ranks, and their names in sentences.
// Sees: core.  Does not see: buffers, ranks, every other room.
// In: nothing.  Out: Movement, OperationName.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/rooms.hpp"
#include "heddle/core/text.hpp"

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

/// What is waited for, in words that lie where the name lies: a process that only says where it waits takes no memory for it.
/// "reduce-scatter of group 12" has 26 of its 40 characters.
using OperationName = Text<40>;

/// The number is one of few digits, which a string has room for in itself.
[[nodiscard]] inline OperationName describe_collective(Movement kind, int group) {
  OperationName name{name_of(kind)};
  name << " of group " << std::to_string(group);
  return name;
}

}  // namespace heddle::transport_room
