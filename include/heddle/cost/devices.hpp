// SPDX-License-Identifier: MIT
// Room: cost. Which devices a step is walked on: all ranks, or one of each role where the ranks of a role do the same at the same time.
// Sees: plan/program, mesh, cost/cells.  Does not see: machines, processes, threads.
// In: a Program.  Out: WalkedDevices: roles, groups, the other end of a transfer.
#pragma once

#include "heddle/cost/cells.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::cost_room {

/// Stage 2 x data 4 has 8 devices by rank, and 2 by role, each of which stands for 4.
///
/// Tested  cost/devices_test
class WalkedDevices {
 public:
  constexpr WalkedDevices(const Program& p, bool by_rank) : by_rank_(by_rank), roles_(p.roles), ranks_(p.mesh.ranks()) {
    for (int a = 0; a < axis_count; ++a) {
      size_[a] = p.mesh.size(static_cast<Axis>(a));
      stride_[a] = p.mesh.stride(static_cast<Axis>(a));
    }
    if (!by_rank) return;
    role_ = Cells<int>{ranks_};
    pipeline_ = Cells<int>{ranks_};
    first_ = Cells<int>{ranks_ * axis_count};
    for (int r = 0; r < ranks_; ++r) {
      role_[r] = p.mesh.coordinate(Rank{r}, Axis::stage);
      pipeline_[r] = p.mesh.group(Rank{r}, Axis::stage);
      for (int a = 0; a < axis_count; ++a) first_[r * axis_count + a] = r - r / stride_[a] % size_[a] * stride_[a];
    }
  }
  [[nodiscard]] constexpr bool by_rank() const { return by_rank_; }
  [[nodiscard]] constexpr int count() const { return by_rank_ ? ranks_ : roles_; }
  [[nodiscard]] constexpr int copies() const { return ranks_ / count(); }  ///< ranks that one stands for
  [[nodiscard]] constexpr int role(int device) const { return by_rank_ ? role_[device] : device; }
  /// Which of the pipelines that are alike it belongs to.
  [[nodiscard]] constexpr int pipelines() const { return by_rank_ ? ranks_ / roles_ : 1; }
  [[nodiscard]] constexpr int pipeline(int device) const { return by_rank_ ? pipeline_[device] : 0; }
  [[nodiscard]] constexpr int peer(int device, int role) const { return by_rank_ ? member(device, Axis::stage, role) : role; }
  /// Of the group along an axis that a device is in: those that are walked.
  [[nodiscard]] constexpr int members(Axis axis) const { return by_rank_ || axis == Axis::stage ? size_[static_cast<int>(axis)] : 1; }
  [[nodiscard]] constexpr int member(int device, Axis axis, int number) const {
    const int a = static_cast<int>(axis);
    if (by_rank_) return first_[device * axis_count + a] + number * stride_[a];
    return axis == Axis::stage ? number : device;
  }

 private:
  bool by_rank_;
  int roles_;
  int ranks_;
  int size_[axis_count]{}, stride_[axis_count]{};
  Cells<int> role_, pipeline_, first_;  // by rank, first_ by axis as well: asked for each message
};

}  // namespace heddle::cost_room
