// SPDX-License-Identifier: MIT
// Room: mesh. The named dimensions along which work is split.
// Sees: core.  Does not see: policies, memory, processes.
// In: -.  Out: Axis and axis::data, axis::stage, ...
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::mesh_room {

enum class Axis : std::uint8_t { data, shard, tensor, stage, context, expert };
inline constexpr int axis_count = 6;

namespace axis {
inline constexpr Axis data = Axis::data;
inline constexpr Axis shard = Axis::shard;
inline constexpr Axis tensor = Axis::tensor;
inline constexpr Axis stage = Axis::stage;
inline constexpr Axis context = Axis::context;
inline constexpr Axis expert = Axis::expert;
}  // namespace axis

[[nodiscard]] constexpr std::string_view name_of(Axis a) {
  constexpr std::string_view names[axis_count] = {"data", "shard", "tensor", "stage", "context", "expert"};
  return names[static_cast<int>(a)];
}

}  // namespace heddle::mesh_room

namespace heddle {
namespace axis = mesh_room::axis;
}  // namespace heddle

namespace heddle::extending {
using mesh_room::Axis;
}  // namespace heddle::extending
