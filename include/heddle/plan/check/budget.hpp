// SPDX-License-Identifier: MIT
// Room: plan. Whether every device has the memory that a plan takes: the budget that the plan names.
// Sees: plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program and a budget.  Out: ok, or C01 with the stage, its bytes, the two largest contributors and a remedy.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What brings the largest part of an arena down. Copies of gradients along the tree over grains are far more than one: 30 grains on a rank are up to
/// five. `kept`: parameters, gradients and states, which no batch makes smaller.
[[nodiscard]] constexpr Text<96> smaller_memory(const Program& p, std::string_view largest, bool copies_gradients, Bytes kept, Bytes budget) {
  Text<96> fix;
  if (largest == "gradients" && copies_gradients)
    return p.batch.grain_named ? fix << "drop Grain<" << p.batch.grain_rows << ">, whose sums keep copies of gradients, or name a larger Memory."
                               : fix << "drop Reproducible, whose sums keep copies of gradients, or name a larger Memory.";
  if (largest == "activations and transfers" && kept.value <= budget.value)
    return fix << "use Recompute, a smaller batch, more stages or a larger Memory.";
  if (kept.value > budget.value) return fix << "use more stages, Sharded or TensorParallel, or a larger Memory.";
  return fix << "use more stages, a smaller batch or a larger Memory.";
}

/// C01: the sentence names the stage that needs most, its bytes and the two largest contributors. `fitted`: its cut was chosen for the budget.
[[nodiscard]] constexpr Diagnosis check_memory(const Program& p, Bytes budget, bool fitted = false) {
  if (budget.value == 0) return {};
  int largest = 0;
  for (int r = 1; r < p.roles; ++r)
    if (p.arenas[r].total > p.arenas[largest].total) largest = r;
  if (const ArenaMap& map = p.arenas[largest]; map.total > budget.value) {
    /// A part of the arena, for the sentence that a plan needs too much: {"gradients", 163,840}.
    struct Share {
      std::string_view name;
      std::int64_t bytes;
    };
    Share parts[] = {{"parameters", map.bytes(RegionKind::parameters, RegionKind::gradients)},  // with units that are gathered
                     {"gradients", map.bytes(RegionKind::gradients, RegionKind::states)},
                     {"optimizer states", map.bytes(RegionKind::states, RegionKind::losses)},
                     {"activations and transfers", map[RegionKind::pools].bytes()},
                     {"scratch", map[RegionKind::scratch].bytes()}};
    for (Share& a : parts)
      for (Share& b : parts)
        if (a.bytes > b.bytes) {
          const Share t = a;
          a = b;
          b = t;
        }
    const Bytes kept{map.bytes(RegionKind::parameters, RegionKind::losses)};
    const bool copies_gradients =
        p.batch.tree && map.bytes(RegionKind::gradients, RegionKind::states) > map.bytes(RegionKind::parameters, RegionKind::gradients);
    return Diagnosis{Code{'C', 1}, ""} << "stage " << largest << " needs " << map.total << " bytes" << (fitted ? " in the best cut found" : "")
                                       << ", the plan allows " << budget.value << " bytes. Largest: " << parts[0].name << " with " << parts[0].bytes
                                       << " bytes, " << parts[1].name << " with " << parts[1].bytes
                                       << " bytes. Fix: " << smaller_memory(p, parts[0].name, copies_gradients, kept, budget).view();
  }
  return {};
}

}  // namespace heddle::plan_room
