// SPDX-License-Identifier: MIT
// Room: cost. Which devices a step is walked on: all ranks, or one of each role where the ranks of a role do the same at the same time.
// Sees: plan/program, mesh.  Does not see: machines, processes, threads.
// In: a Program.  Out: Devices: roles, groups, the other end of a transfer.
#pragma once

#include "heddle/plan/program/program.hpp"

namespace heddle::cost_room {

/// Stage 2 x data 4 has 8 devices by rank, and 2 by role, each of which stands for 4.
class Devices {
 public:
  constexpr Devices(const Program& p, bool by_rank) : p_(p), by_rank_(by_rank) {}

  [[nodiscard]] constexpr bool by_rank() const { return by_rank_; }
  [[nodiscard]] constexpr int count() const { return by_rank_ ? p_.mesh.ranks() : p_.roles; }
  [[nodiscard]] constexpr int copies() const { return p_.mesh.ranks() / count(); }  ///< ranks that one stands for
  [[nodiscard]] constexpr int role(int device) const { return by_rank_ ? p_.mesh.coordinate(Rank{device}, Axis::stage) : device; }
  /// Which of the pipelines that are alike it belongs to.
  [[nodiscard]] constexpr int pipelines() const { return by_rank_ ? p_.mesh.ranks() / p_.roles : 1; }
  [[nodiscard]] constexpr int pipeline(int device) const { return by_rank_ ? p_.mesh.group(Rank{device}, Axis::stage) : 0; }
  [[nodiscard]] constexpr int peer(int device, int role) const { return by_rank_ ? p_.mesh.moved(Rank{device}, Axis::stage, role).value : role; }
  /// Of the group along an axis that a device is in: those that are walked.
  [[nodiscard]] constexpr int members(Axis axis) const { return by_rank_ ? p_.mesh.size(axis) : axis == Axis::stage ? p_.roles : 1; }
  [[nodiscard]] constexpr int member(int device, Axis axis, int number) const {
    if (by_rank_) return p_.mesh.moved(Rank{device}, axis, number).value;
    return axis == Axis::stage ? number : device;
  }

 private:
  const Program& p_;
  bool by_rank_;
};

}  // namespace heddle::cost_room
