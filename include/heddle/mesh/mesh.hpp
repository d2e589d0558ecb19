// SPDX-License-Identifier: MIT
// Room: mesh. Sizes of the axes, innermost first; rank <-> coordinates; groups along an axis.
// Sees: core, mesh/axis.  Does not see: policies, memory, processes.
// In: claims in nesting order.  Out: Mesh.
#pragma once

#include "heddle/core/units.hpp"
#include "heddle/mesh/axis.hpp"

namespace heddle::inline mesh_room {

/// Axes of a plan. The innermost varies fastest: Hybrid<MP, DP> puts model-parallel groups on consecutive ranks.
struct Mesh {
  Axis axes[axis_count]{};
  int sizes[axis_count]{};
  int count = 0;

  [[nodiscard]] constexpr int size(Axis a) const {
    for (int i = 0; i < count; ++i)
      if (axes[i] == a) return sizes[i];
    return 1;
  }
  [[nodiscard]] constexpr int ranks() const {
    int product = 1;
    for (int i = 0; i < count; ++i) product *= sizes[i];
    return product;
  }
  /// Ranks between neighbours along an axis.
  [[nodiscard]] constexpr int stride(Axis a) const {
    int product = 1;
    for (int i = 0; i < count && axes[i] != a; ++i) product *= sizes[i];
    return product;
  }
  [[nodiscard]] constexpr int coordinate(Rank rank, Axis a) const { return rank.value / stride(a) % size(a); }
  /// The rank that differs from `rank` in one coordinate only.
  [[nodiscard]] constexpr Rank moved(Rank rank, Axis a, int coordinate_there) const {
    return Rank{rank.value + (coordinate_there - coordinate(rank, a)) * stride(a)};
  }
  /// Groups along an axis are numbered by their lowest rank's order: 0 .. ranks / size - 1.
  [[nodiscard]] constexpr int group(Rank rank, Axis a) const {
    const int step = stride(a);
    return rank.value / (step * size(a)) * step + rank.value % step;
  }
  [[nodiscard]] constexpr Rank member(int group_number, Axis a, int position) const {
    const int step = stride(a);
    return Rank{group_number / step * step * size(a) + group_number % step + position * step};
  }
};

}  // namespace heddle::inline mesh_room
