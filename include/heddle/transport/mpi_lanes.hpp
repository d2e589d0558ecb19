// SPDX-License-Identifier: MIT
// Room: transport. The groups that one process belongs to, each with its window of pending collectives.
// Sees: seams, run, transport/groups, transport/mpi_collective, transport/window.  Does not see: deadlines, lost ranks, transfers.
// In: a communicator, groups, a rank, limits.  Out: MpiLanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_collective.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// One group that a rank belongs to.
struct MpiLane {
  MpiGroup group;
  Window window;
  std::vector<MpiCollective> slots;

  [[nodiscard]] int slot_of(std::int64_t k) const { return static_cast<int>(k % std::ssize(slots)); }
  [[nodiscard]] MpiCollective& slot(std::int64_t k) { return slots[static_cast<std::size_t>(slot_of(k))]; }
};

/// The groups of one rank: of {0, 1} and {2, 3}, rank 2 has one lane.
///
/// Errors  T06 more tags than MPI has
/// Tested  transport/mpi_lanes_test
class MpiLanes {
 public:
  /// Of a lane of a group of so many members, with so many pending, that sums so many elements.
  [[nodiscard]] static constexpr Bytes memory(int members, int reductions, std::int64_t elements) {
    const Bytes scratch = members > 1 ? MpiGroup::scratch_of(elements, members) : Bytes{};
    return scratch + Bytes{static_cast<std::int64_t>(sizeof(MpiLane)) + 4 * members} + Window::memory(reductions) +
           reductions * (MpiCollective::memory(members) + Bytes{sizeof(MpiCollective*)});
  }
  /// Returns how many collectives may be pending in all of them.
  std::size_t make(const MpiCommunicator& comm, const GroupsOfRanks& groups, int rank, PendingLimits limits) {
    const std::int64_t tags_of_one = std::int64_t{limits.reductions} * MpiCollective::tags;
    if (groups.count() * tags_of_one > comm.most_tag())
      throw Error{Code{'T', 6},
                  written({groups.count(), " groups with ", limits.reductions, " pending collectives each need more tags than this MPI has, ",
                           comm.most_tag(), ". Fix: use fewer, larger buckets, or another MPI."})};
    lane_of_.resize(static_cast<std::size_t>(groups.count()));
    std::size_t own = 0;  // number of a group among those of this rank
    for (int g = 0; g < groups.count(); ++g) {
      if (groups.position(g, rank) < 0) continue;
      auto lane = std::make_unique<MpiLane>(MpiLane{{}, Window{limits.reductions}, {}});
      MpiGroup& group = lane->group;
      group.comm = comm.get();
      group.number = g;
      group.add = limits.add;
      for (int q = 0; q < groups.members(g); ++q) group.ranks.push_back(groups.rank_at(g, q));
      group.position = groups.position(g, rank);
      group.first_tag = static_cast<int>(g * tags_of_one);
      if (group.members() > 1) group.reserve(own < limits.elements.size() ? limits.elements[own] : 0);
      ++own;
      lane->slots.reserve(static_cast<std::size_t>(limits.reductions));
      for (int i = 0; i < limits.reductions; ++i) lane->slots.emplace_back(groups.members(g));
      pending_ += lane->slots.size();
      lane_of_[static_cast<std::size_t>(g)] = std::move(lane);
    }
    return pending_;
  }

  /// Only of a group that the rank is a member of.
  [[nodiscard]] MpiLane& at(int group) { return *lane_of_[static_cast<std::size_t>(group)]; }
  /// Memory for sums.
  [[nodiscard]] Bytes scratch() const {
    Bytes sum;
    for (const auto& lane : lane_of_)
      if (lane != nullptr) sum += Bytes{static_cast<std::int64_t>(lane->group.scratch.size() * sizeof(float))};
    return sum;
  }

 private:
  std::vector<std::unique_ptr<MpiLane>> lane_of_;  // by group; null where the rank is no member
  std::size_t pending_ = 0;
};

}  // namespace heddle::transport_room
