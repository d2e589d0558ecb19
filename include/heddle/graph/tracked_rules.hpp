// SPDX-License-Identifier: MIT
// Room: graph. What a leaf may say of parameters that are tracked, of rows that are normalised together, and of its phases.
// Sees: core, graph/leaf, graph/phase_rules.  Does not see: policies, devices, memory.
// In: a Leaf.  Out: nothing, or the Diagnosis G23.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/phase_rules.hpp"

namespace heddle::graph_room {

/// G23: what is tracked is a mean of values of the input, as many in each element, on one rank and on several.
///
/// Tested  graph/tracked_rules_test
[[nodiscard]] constexpr Diagnosis check_tracked(const Leaf& leaf) {
  const auto broken = [&] { return Diagnosis{Code{'G', 23}, leaf.spelled.view()}; };
  if (leaf.rows_together < 0)
    return broken() << " normalises " << leaf.rows_together << " rows together. Fix: say at least how many, or 0 where each row stands alone.";
  if (leaf.rows_together > 0 && (leaf.elementwise || leaf.reshapes))
    return broken() << " normalises rows together, but says that it is elementwise or only reshapes. Fix: drop one of both.";
  for (int p = 0; p < leaf.parameter_count; ++p) {
    const Parameter& here = leaf.parameters[p];
    if (!here.tracked()) continue;
    const auto broken_parameter = [&] { return broken() << " tracks '" << here.name.view() << "', but "; };
    if (here.tracks < 0) return broken_parameter() << "of grains with at least " << int{here.tracks} << " values. Fix: say 1 or more.";
    if (!(leaf.momentum >= 0 && leaf.momentum <= 1))
      return broken_parameter() << "its momentum is not between 0 and 1. Fix: set leaf.momentum to how far a step goes, for example 0.1.";
    if (leaf.in.elements() % here.shape.elements() != 0)
      return broken_parameter() << "its " << here.shape.elements() << " elements do not divide the " << leaf.in.elements()
                                << " of the input. Fix: track a mean of as many values in each element.";
    for (int i = 0; i < leaf.signature_count; ++i) {
      const Signature& s = leaf.signatures[i];
      if (s.input.sharded() == s.parameters[p].sharded() && !s.parameter_gradients[p].partial()) continue;
      return broken_parameter() << "signature " << i << " takes its input " << s.input << " and has it " << s.parameters[p]
                                << ", so ranks would have parts of its mean. Fix: split both or neither.";
    }
  }
  return check_phases(leaf);
}

}  // namespace heddle::graph_room
