// SPDX-License-Identifier: MIT
// Room: run. What a Program asks of a transport: groups, and how many starts may be pending.
// Sees: plan/program, plan/program_hash, run/step_input.  Does not see: policies, any backend.
// In: the training and the evaluation Program.  Out: TransportNeeds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/plan/program.hpp"
#include "heddle/plan/program_hash.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::inline run_room {

/// Starts, ring and group sizes that a plan needs of a transport.
struct TransportNeeds {
  int ranks = 1;
  std::vector<std::vector<int>> groups;
  int transfers = 1;          ///< starts of one step on the busiest channel
  int reductions = 1;         ///< starts of one step of one group
  std::int64_t elements = 1;  ///< of the largest collective
  std::uint64_t program = 0;  ///< what ranks that are processes compare: program_hash of both Programs
};

/// Groups are numbered as transport_group() does.
[[nodiscard]] inline TransportNeeds transport_needs(const Program& training, const Program& evaluation) {
  TransportNeeds needs;
  needs.ranks = training.mesh.ranks();
  for (const Axis a : group_axes) {
    if (!reduces_along(training, a)) continue;
    const int n = training.mesh.size(a);
    for (int g = 0; g < needs.ranks / n; ++g) {
      std::vector<int> members;
      for (int k = 0; k < n; ++k) members.push_back(training.mesh.member(g, a, k).value);
      needs.groups.push_back(members);
    }
  }
  for (const Program* p : {&training, &evaluation})
    for (int i = 0; i < p->lists[p->roles - 1].end; ++i) needs.transfers = std::max(needs.transfers, p->instructions[i].sequence + 1);
  needs.reductions = 2 * training.bucket_count + 4;  // a reduction and a gather of each, two of the loss, two of a ring
  for (int b = 0; b < training.bucket_count; ++b) needs.elements = std::max(needs.elements, training.buckets[b].elements);
  needs.elements = std::max<std::int64_t>(needs.elements, training.norm_floats());
  needs.program = Fnv{}.add(program_hash(training), program_hash(evaluation)).value();
  return needs;
}

}  // namespace heddle::inline run_room
