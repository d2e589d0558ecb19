// SPDX-License-Identifier: MIT
// Room: mesh. Sizes of the axes, innermost first; rank <-> coordinates; groups along an axis.
// Sees: core, mesh/axis.  Does not see: policies, memory, processes.
// In: claims in nesting order.  Out: Mesh; ok, or M01, M02, M10.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/mesh/axis.hpp"

namespace heddle::mesh_room {

/// Axes of a plan. The innermost varies fastest: Hybrid<MP, DP> puts model-parallel groups on consecutive ranks. Mesh{{axis::data, axis::tensor},
/// {4, 2}, 2} has 8 ranks.
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

/// What makes ranks of axes: every axis once, with at least one rank, and a number of ranks that can be counted.
///
/// Errors  M01 an axis twice, M02 a size below 1, M10 a number of axes that cannot be or is not the one of sizes, no axis, or too many ranks
/// Tested  mesh/mesh_test, backend/spmd_threads_test
[[nodiscard]] constexpr Diagnosis check_mesh(const Mesh& mesh, std::int64_t most_ranks = 1 << 20) {
  if (mesh.count < 0 || mesh.count > axis_count)
    return Diagnosis{Code{'M', 10}, ""} << "a mesh has " << mesh.count << " axes, but there are " << axis_count
                                        << ". Fix: let count be the number of axes that are named.";
  for (int i = mesh.count; i < axis_count; ++i)
    if (mesh.sizes[i] != 0)
      return Diagnosis{Code{'M', 10}, ""}
             << "a mesh has " << mesh.count << (mesh.count == 1 ? " axis" : " axes") << " by its count, but size " << mesh.sizes[i]
             << " stands at place " << i + 1
             << ". Fix: let count, the third member, be the number of axes that are named, as in Mesh{{axis::data}, {4}, 1}.";
  std::int64_t ranks = 1;
  for (int i = 0; i < mesh.count; ++i) {
    if (static_cast<int>(mesh.axes[i]) >= axis_count)
      return Diagnosis{Code{'M', 10}, ""} << "axis " << i << " of a mesh is number " << static_cast<int>(mesh.axes[i]) << ", but there are "
                                          << axis_count << ". Fix: name one of them, as in axis::data.";
    for (int j = 0; j < i; ++j)
      if (mesh.axes[i] == mesh.axes[j])
        return Diagnosis{Code{'M', 1}, ""} << "axis " << name_of(mesh.axes[i]) << " is named twice in a mesh, with sizes " << mesh.sizes[j] << " and "
                                           << mesh.sizes[i] << ". Fix: name it once.";
    if (mesh.sizes[i] < 1)
      return Diagnosis{Code{'M', 2}, ""} << "axis " << name_of(mesh.axes[i]) << " has size " << mesh.sizes[i] << ". Fix: use a size of at least 1.";
    ranks *= mesh.sizes[i];
    if (ranks > most_ranks) return Diagnosis{Code{'M', 10}, ""} << "a mesh has more than " << most_ranks << " ranks. Fix: use smaller sizes.";
  }
  return {};
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::Mesh;
}  // namespace heddle::extending
