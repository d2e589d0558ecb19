// SPDX-License-Identifier: MIT
// Room: plan. The order of the trained parameters of a unit: by group, and within a group as in the model.
// Sees: graph, plan/program.  Does not see: policies, options, memory, processes, threads.
// In: Graph, ParameterGroups.  Out: UnitNodes.
#pragma once

#include <cstdint>

#include "heddle/graph/graph.hpp"
#include "heddle/plan/program/groups.hpp"

namespace heddle::plan_room {

/// Nodes first .. end - 1 of one unit, and which way its groups go. They ascend in units 0, 2, 4 .. of the model and descend between, so neighbours
/// meet in one group: of weights and biases unit 0 ends with its biases, and unit 1 begins with its own. Uses of shared parameters are added element
/// by element, so groups ascend in all of them.
///
/// Linear, ReLU, Linear in one unit under NoDecay<> has nodes 0 to 3: both weights, then both biases.
/// Tested  plan/lower/unit_order_test
struct UnitNodes {
  int first = 0;
  int end = 0;
  bool descends = false;

  /// visit(node, number in its leaf), parameter by parameter as they lie.
  template <class Visit> constexpr void each(const Graph& graph, const ParameterGroups& groups, Visit visit) const {
    for (int i = 0; i < groups.count; ++i) {
      const int group = descends ? groups.count - 1 - i : i;
      for (int n = first; n < end; ++n)
        for (int k = 0; k < graph.nodes[n].trained_count(); ++k)
          if (groups.of_parameter[graph.nodes[n].first_parameter + k] == group) visit(n, k);
    }
  }
};

/// The unit that begins with node n and ends before node `most` at the latest: a block, or one leaf. `number`: among all units of the model.
[[nodiscard]] constexpr UnitNodes unit_from(const Graph& graph, int n, int most, int number, bool shared) {
  UnitNodes unit{n, n + 1, number % 2 == 1 && !shared};
  while (graph.nodes[n].block >= 0 && unit.end < most && graph.nodes[unit.end].block == graph.nodes[n].block) ++unit.end;
  return unit;
}

}  // namespace heddle::plan_room
