// SPDX-License-Identifier: MIT
// Room: mesh. How one value lies along one axis: whole on every rank, split, or a sum not yet taken.
// Sees: core, mesh/axis.  Does not see: policies, memory, processes.
// In: -.  Out: Placement.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::mesh_room {

enum class Placement : std::uint8_t {
  replicate,  ///< the same on every rank of the axis
  shard,      ///< each rank holds a part
  partial     ///< each rank holds a term of a sum that is not yet taken
};

[[nodiscard]] constexpr std::string_view name_of(Placement p) {
  constexpr std::string_view names[] = {"Replicate", "Shard", "Partial"};
  return names[static_cast<int>(p)];
}

}  // namespace heddle::mesh_room
