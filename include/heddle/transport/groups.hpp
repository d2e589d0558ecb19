// SPDX-License-Identifier: MIT
// Room: transport. The groups of a transport: which ranks reduce together, and at which position each of them is.
// Sees: seams/error.  Does not see: transfers, threads, the mesh they come from.
// In: lists of ranks.  Out: members and positions; a sentence for a group, peer or count that cannot be.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::transport_room {

/// The ranks and groups of one transport; the order within a group is the order of the sum's tree.
/// With the groups {0, 1} and {2, 3} position(1, 3) is 1, and rank 1 has no position in group 1.
///
/// Errors  T04 for ranks that are out of range or named twice, and for peers and groups a rank cannot use; T05 for a count that is negative or does
///         not divide
/// Tested  transport/groups_test
class GroupsOfRanks {
 public:
  static constexpr int most_ranks = (1 << 15) - 1;

  /// Of groups that name every rank at most once along each of four axes.
  [[nodiscard]] static constexpr Bytes memory(int ranks, int groups) {
    return Bytes{groups * (static_cast<std::int64_t>(sizeof(std::vector<int>)) + 4 * std::int64_t{ranks}) + 4 * 4 * std::int64_t{ranks}};
  }
  HEDDLE_COLD GroupsOfRanks(int ranks, std::vector<std::vector<int>> groups)
      : ranks_(ranks), groups_(std::move(groups)), positions_(groups_.size() * static_cast<std::size_t>(ranks < 0 ? 0 : ranks), -1) {
    if (ranks < 1 || ranks > most_ranks)
      throw Error{Code{'T', 4},
                  written({"a transport has from 1 to ", most_ranks, " ranks, not ", ranks, ". Fix: give it the number of devices of the plan."})};
    for (int g = 0; g < count(); ++g) add_positions(g);
  }

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int count() const { return static_cast<int>(groups_.size()); }
  [[nodiscard]] int members(int group) const { return static_cast<int>(at(group).size()); }
  [[nodiscard]] int rank_at(int group, int position) const { return at(group)[static_cast<std::size_t>(position)]; }
  /// The position of a rank in a group, -1 if it is no member.
  [[nodiscard]] int position(int group, int rank) const { return positions_[static_cast<std::size_t>(group * ranks_ + rank)]; }

  void check_transfer(int rank, int peer, std::int64_t elements) const {
    if (peer < 0 || peer >= ranks_ || peer == rank)
      throw Error{Code{'T', 4}, written({name(rank), " cannot exchange with rank ", peer, ". There are ", ranks_,
                                         " ranks, counted from 0, and none is its own peer. Fix: name another rank of the transport."})};
    check_elements(rank, elements);
  }
  void check_collective(int rank, int group, std::int64_t elements) const {
    if (group < 0 || group >= count() || position(group, rank) < 0)
      throw Error{Code{'T', 4}, written({name(rank), " is no member of group ", group, " of ", count(),
                                         ". Fix: name a group, counted from 0, that contains the rank."})};
    check_elements(rank, elements);
  }
  /// As check_collective, for a whole that is divided into one slice per member.
  void check_slices(int rank, int group, std::int64_t elements) const {
    check_collective(rank, group, elements);
    if (elements % members(group) != 0)
      throw Error{Code{'T', 5}, written({name(rank), " divides ", elements, " elements into slices for the ", members(group), " members of group ",
                                         group, ". Fix: pass a multiple of ", members(group), "."})};
  }

 private:
  [[nodiscard]] const std::vector<int>& at(int group) const { return groups_[static_cast<std::size_t>(group)]; }
  HEDDLE_COLD static std::string name(int rank) { return "rank " + std::to_string(rank); }
  static void check_elements(int rank, std::int64_t elements) {
    if (elements < 0) throw Error{Code{'T', 5}, written({name(rank), " moves ", elements, " elements. Fix: pass a count of 0 or more."})};
  }
  HEDDLE_COLD void add_positions(int group) {
    for (int q = 0; q < members(group); ++q) {
      const int rank = rank_at(group, q);
      if (rank < 0 || rank >= ranks_ || position(group, rank) >= 0)
        throw Error{Code{'T', 4}, written({"group ", group, " names rank ", rank, ", which is named twice or is none of the ", ranks_,
                                           " ranks. Fix: list each member once, counted from 0."})};
      positions_[static_cast<std::size_t>(group * ranks_ + rank)] = q;
    }
  }

  int ranks_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> positions_;  // (groups, ranks)
};

}  // namespace heddle::transport_room
