// SPDX-License-Identifier: MIT
// Room: run. Which group of a transport carries the collectives of a rank along an axis: groups are of the axes along which the plan has any.
// Sees: mesh, plan/program, plan/read/collective_needs.  Does not see: policies, any backend.
// In: the training and the evaluation Program.  Out: GroupNumbers, RankGroups.
#pragma once

#include "heddle/mesh/mesh.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/collective_needs.hpp"

namespace heddle::run_room {

/// The order in which a transport numbers its groups.
inline constexpr Axis group_axes[] = {Axis::shard, Axis::data, Axis::tensor, Axis::stage};

/// The first group along each axis; groups of earlier axes come first, and an axis without a collective has none.
/// TensorParallel<2> inside DataParallel<2> has groups 0 and 1 along axis data, 2 and 3 along axis tensor.
///
/// Tested  run/transport_groups_test
struct GroupNumbers {
  static constexpr int none = -1;
  int first[axis_count]{};
  int count = 0;

  constexpr GroupNumbers() = default;
  constexpr GroupNumbers(const Mesh& mesh, const CollectiveNeeds& needs) {
    for (int& f : first) f = none;
    for (const Axis a : group_axes) {
      if (!needs.on(a).any()) continue;
      first[static_cast<int>(a)] = count;
      count += mesh.ranks() / mesh.size(a);
    }
  }
  constexpr GroupNumbers(const Program& training, const Program& evaluation) : GroupNumbers(training.mesh, collective_needs(training, evaluation)) {}

  /// That of a rank along an axis; none where no collective goes along it.
  [[nodiscard]] constexpr int of(const Mesh& mesh, Rank rank, Axis axis) const {
    const int begin = first[static_cast<int>(axis)];
    return begin == none ? none : begin + mesh.group(rank, axis);
  }
};

/// Those of one rank, by axis: rank 3 of TensorParallel<2> inside DataParallel<2> has group 1 along axis data and group 3 along axis tensor.
struct RankGroups {
  int along[axis_count]{};

  constexpr RankGroups(const Program& training, const Program& evaluation, Rank rank) {
    const GroupNumbers numbers{training, evaluation};
    for (int a = 0; a < axis_count; ++a) along[a] = numbers.of(training.mesh, rank, static_cast<Axis>(a));
  }
  [[nodiscard]] constexpr int operator[](Axis a) const { return along[static_cast<int>(a)]; }
};

}  // namespace heddle::run_room
