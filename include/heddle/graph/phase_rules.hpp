// SPDX-License-Identifier: MIT
// Room: graph. What a leaf may say of the phases of its forward and backward.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: a Leaf.  Out: nothing, or the Diagnosis G19, G23.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

inline constexpr std::int64_t most_sums = std::int64_t{1} << 30;  ///< that a grain tells

/// G19: a phase too many. G23: phases are of a leaf of one operand that normalises rows together; what its forward knew of all rows is in its
/// statistics, from which it can run again, and its backward reads them and the input.
///
/// Tested  graph/phase_rules_test
[[nodiscard]] constexpr Diagnosis check_phases(const Leaf& leaf) {
  const auto broken = [&](int code = 23) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
  if (leaf.forward_phases.surplus > 0 || leaf.backward_phases.surplus > 0)
    return broken(19) << " has more than " << Phases::most << " phases in a pass, which are not kept. Fix: tell in one sum what two of them tell.";
  if (!leaf.has_phases()) return {};
  for (const Phases* phases : {&leaf.forward_phases, &leaf.backward_phases})
    for (const std::int64_t sums : phases->sums)
      if (sums < 0 || sums > most_sums)
        return broken() << " tells " << sums << " sums between two phases. Fix: tell from 1 to " << most_sums << " of them.";
  if (leaf.rows_together < 1)
    return broken() << " has phases, between which ranks tell each other of their rows, but says that rows stand alone. Fix: set leaf.rows_together "
                       "to at least 1.";
  if (leaf.operands != 1) return broken() << " has phases and takes two values. Fix: let a layer behind it, of one value, have the phases.";
  if (leaf.forward_phases.any() && leaf.statistics.dimensions == 0)
    return broken() << " has forward phases, but keeps nothing of what ranks told each other, so it could not run again. Fix: set leaf.statistics to "
                       "what its last phase makes its output of, beside the input.";
  if (leaf.backward_phases.any() && (leaf.saves == Saves::output || leaf.saves == Saves::both))
    return broken() << " has backward phases and saves its output, which is not kept then. Fix: save the input.";
  for (int i = 0; i < leaf.signature_count; ++i) {
    const Signature& s = leaf.signatures[i];
    if (s.parts_of_sums == s.input.sharded() || s == Signature{}) continue;
    return broken() << " is split by signature " << i << ", but what ranks tell each other between its phases is "
                    << (s.parts_of_sums ? "in parts though its input is whole" : "whole though its input is in parts")
                    << ". Fix: say with_parts_of_sums() of a signature whose input is in parts, and of no other.";
  }
  return {};
}

}  // namespace heddle::graph_room
