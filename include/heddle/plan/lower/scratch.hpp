// SPDX-License-Identifier: MIT
// Room: plan. Offsets for what lives inside one body only.
// Sees: the standard library.  Does not see: graph, processes, threads.
// In: sizes in order of first and last use.  Out: offsets and their peak.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::plan_room {

/// First-fit among the live intervals of one body; `most` live at a time, which only Residuals nested as deeply could exceed.
/// Where bytes 0 to 127 and 192 to 255 are live, 64 bytes are taken at 128, but 128 bytes at 256.
struct ScratchSpace {
  static constexpr int most = 512;
  std::int64_t offset[most]{};
  std::int64_t bytes[most]{};
  bool live[most]{};
  int used = 0;       // entries that were ever live: loops end there
  bool full = false;  // one found no room, and is not remembered
  std::int64_t peak = 0;

  /// For the next body. Of what has been live only the number is forgotten: to write 512 intervals takes a compiler longer than most bodies do.
  constexpr void clear() {
    used = 0;
    full = false;
    peak = 0;
  }
  constexpr std::int64_t take(std::int64_t size) {
    std::int64_t at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < used; ++i)
        if (live[i] && at < offset[i] + bytes[i] && offset[i] < at + size) {
          at = offset[i] + bytes[i];
          moved = true;
        }
    }
    int free = 0;
    while (free < used && live[free]) ++free;
    if (free == most) {
      full = true;
      return at;
    }
    if (free == used) ++used;
    offset[free] = at;
    bytes[free] = size;
    live[free] = true;
    if (at + size > peak) peak = at + size;
    return at;
  }
  constexpr void release(std::int64_t at) {
    for (int i = 0; i < used; ++i)
      if (live[i] && offset[i] == at) live[i] = false;
  }
};

}  // namespace heddle::plan_room
