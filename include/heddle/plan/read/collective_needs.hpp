// SPDX-License-Identifier: MIT
// Room: plan. What the collectives of a plan ask along each axis: which kinds, in which order they add, how large, how many at a time.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: the tables of collectives of training and evaluation.  Out: CollectiveNeeds, which a transport is made for.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What the collectives along one axis ask. DataParallel<2> of Linear<16, 16> asks for all-reduces of at most 1,024 elements along axis data, of
/// which two may be under way: the gradient and the loss.
struct AxisNeeds {
  std::int64_t largest[collective_kinds]{};  ///< [elements], by kind, of the whole; 0: none is of that kind
  bool tree = false;                         ///< some of the sums are to follow the fixed tree
  int under_way = 0;                         ///< at most, on one rank

  [[nodiscard]] constexpr bool any() const { return under_way > 0; }
  [[nodiscard]] constexpr std::int64_t of(CollectiveKind kind) const { return largest[static_cast<int>(kind)]; }
  [[nodiscard]] constexpr std::int64_t largest_sum() const {
    const std::int64_t whole = of(CollectiveKind::all_reduce), scattered = of(CollectiveKind::reduce_scatter);
    return whole > scattered ? whole : scattered;
  }
};

/// The same by axis. Pipeline<Balanced<2>> alone asks for nothing along any.
struct CollectiveNeeds {
  AxisNeeds along[axis_count]{};
  [[nodiscard]] constexpr const AxisNeeds& on(Axis a) const { return along[static_cast<int>(a)]; }
};

/// Read off both tables. A collective has at most one START that is not waited for, so no more are under way than the larger table has along an axis;
/// of those that an entry starts and waits for, one.
///
/// Tested  plan/read/collective_needs_test, run/transport_needs_test
[[nodiscard]] constexpr CollectiveNeeds collective_needs(const Program& training, const Program& evaluation) {
  CollectiveNeeds needs;
  for (const Program* p : {&training, &evaluation}) {
    int apart[axis_count]{};
    bool at_once[axis_count]{};
    for (int i = 0; i < p->collective_count; ++i) {
      const Collective& c = p->collectives[i];
      const int a = static_cast<int>(c.axis);
      std::int64_t& most = needs.along[a].largest[static_cast<int>(c.kind)];
      if (c.elements > most) most = c.elements;
      needs.along[a].tree = needs.along[a].tree || (c.sums() && c.order == SumOrder::tree);
      at_once[a] = at_once[a] || c.at_once();
      apart[a] += c.at_once() ? 0 : 1;
    }
    for (int a = 0; a < axis_count; ++a)
      if (const int here = apart[a] + (at_once[a] ? 1 : 0); here > needs.along[a].under_way) needs.along[a].under_way = here;
  }
  return needs;
}

}  // namespace heddle::plan_room
