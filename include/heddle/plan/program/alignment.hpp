// SPDX-License-Identifier: MIT
// Room: plan. Where tensors may begin: lines, units, and the multiple that a size is rounded up to.
// Sees: core.  Does not see: graph, policies, processes, threads.
// In: bytes or elements.  Out: the same.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"
#include "heddle/core/shape.hpp"

namespace heddle::plan_room {

inline constexpr std::int64_t line_bytes = 64;                           ///< every tensor starts at a multiple of this
inline constexpr std::int64_t unit_bytes = 64 * 64;                      ///< a unit is padded to 64 parts of 64 bytes, whatever the layout
inline constexpr std::int64_t line_elements = line_bytes / float_bytes;  ///< of parameters: offsets in flat buffers count elements
inline constexpr std::int64_t unit_elements = unit_bytes / float_bytes;

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

/// Of so many rows of a value, from one grain to the next: whole lines. 3 rows of 5 float32 take one line of 64 bytes.
[[nodiscard]] constexpr std::int64_t grain_bytes(std::int64_t rows, std::int64_t features, ElementType type) {
  return rounded_up(rows * features * bytes_of(type), line_bytes);
}

}  // namespace heddle::plan_room
