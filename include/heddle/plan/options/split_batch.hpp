// SPDX-License-Identifier: MIT
// Room: plan. What the answers of policies must be before a batch is divided by them: axes, shares, micro-batches.
// Sees: policy answers, mesh, core.  Does not see: memory, processes, threads, policies by name.
// In: a Layout.  Out: ok, or M01, M02, M07, M10, M15, S02 with the numbers.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

[[nodiscard]] constexpr Diagnosis broken_layout() { return Diagnosis{Code{'M', 15}, ""}; }

/// M15: which ranks take other rows. Gradients are reduced over axes shard and data and over no others.
[[nodiscard]] constexpr Diagnosis check_split_batch(const Layout& layout) {
  for (int a = 0; a < axis_count; ++a) {
    const auto axis = static_cast<Axis>(a);
    const bool splits = layout.batch_split[a];
    if (splits && axis != Axis::data && axis != Axis::shard)
      return broken_layout() << "axis " << name_of(axis)
                             << " splits the batch, but gradients are reduced over axes data and shard. Fix: split the batch along one of these.";
    if (!splits && (axis == Axis::data || axis == Axis::shard) && layout.mesh.size(axis) > 1)
      return broken_layout() << "the " << layout.mesh.size(axis) << " ranks of axis " << name_of(axis)
                             << " take the same rows, so each does what the others do. Fix: answer with splits_batch(axis).";
  }
  if (layout.share_count == 0) return {};
  if (layout.share_count < 0 || layout.share_count > Layout::most_shares)
    return Diagnosis{Code{'M', 7}, ""} << layout.share_count << " shares of the batch are named, but 0 to " << Layout::most_shares
                                       << " are kept. Fix: let splits_unevenly count them.";
  if (const int ranks = layout.mesh.size(Axis::data); layout.share_count != ranks || !layout.batch_split[static_cast<int>(Axis::data)])
    return Diagnosis{Code{'M', 7}, ""} << layout.share_count << " shares of the batch are named for the " << ranks
                                       << " ranks of axis data. Fix: split the batch along axis data, with a share for each rank.";
  for (int i = 0; i < layout.share_count; ++i)
    if (layout.shares[i] < 1)
      return Diagnosis{Code{'M', 7}, ""} << "replica " << i << " has share " << layout.shares[i] << " of the batch. Fix: give it at least 1.";
  return {};
}

/// S02: a step has work.
[[nodiscard]] constexpr Diagnosis check_micro_batches(const Layout& layout) {
  if (layout.micro_batches >= 1) return {};
  return Diagnosis{Code{'S', 2}, ""} << "a layout of " << layout.micro_batches << " micro-batches does nothing. Fix: use at least 1.";
}

/// What divide_batch divides by, of a layout that is data as of one that policies answered.
///
/// Errors  M01, M02, M10 axes, M15, M07 shares, S02 micro-batches
/// Tested  plan/options/split_batch_test
[[nodiscard]] constexpr Diagnosis check_divided_by(const Layout& layout) {
  if (const Diagnosis found = check_mesh(layout.mesh, Layout::most_count); !found.ok()) return found;
  if (const Diagnosis found = check_split_batch(layout); !found.ok()) return found;
  return check_micro_batches(layout);
}

/// A product that stays small enough to be multiplied again.
[[nodiscard]] constexpr std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = Layout::most_count + 1;
  return (a < most ? a : most) * (b < most ? b : most);
}

}  // namespace heddle::plan_room
