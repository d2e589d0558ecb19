// SPDX-License-Identifier: MIT
// Room: run. What a Program asks of a transport: groups, and how many starts may be pending.
// Sees: plan/program, plan/read, seams/concepts, run/step_input, run/build_flags.  Does not see: policies, any backend.
// In: the training and the evaluation Program, options, a seed.  Out: RankNeeds, TransportNeeds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/text.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/build_flags.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/pledge.hpp"

namespace heddle::run_room {

/// Sizes alone, known at build: memory is counted by them.
[[nodiscard]] HEDDLE_COLD constexpr RankNeeds rank_needs(const Program& training, const Program& evaluation) {
  RankNeeds needs;
  needs.ranks = training.mesh.ranks();
  std::size_t own = 0;
  std::size_t group_along[axis_count]{};  // number among those of one rank
  for (const Axis a : group_axes) {
    if (!reduces_along(training, a)) continue;
    group_along[static_cast<int>(a)] = own;
    needs.members[own++] = training.mesh.size(a);
    needs.all_groups += needs.ranks / training.mesh.size(a);
  }
  for (const Program* p : {&training, &evaluation}) {
    for (int i = 0; i < p->lists[p->roles - 1].end; ++i) needs.transfers = std::max(needs.transfers, p->instructions[i].sequence + 1);
    for (int i = 0; i < p->collective_count; ++i) {
      const Collective& c = p->collectives[i];
      std::int64_t& most = needs.elements[group_along[static_cast<int>(c.axis)]];
      if (c.sums() && p->mesh.size(c.axis) > 1) most = std::max(most, c.elements);
    }
  }
  needs.reductions = 2 * training.bucket_count + training.frozen_count + 4;  // a reduction and a gather of each, two of the loss, two of a ring
  return needs;
}
static_assert(std::size(group_axes) <= RankNeeds::most_groups);

/// With the ranks of each group. DataParallel<4> with one bucket has the group {0, 1, 2, 3} and 6 reductions.
struct TransportNeeds : RankNeeds {
  std::vector<std::vector<int>> groups;
  AddElements add = nullptr;  ///< how sums add; a pairing whose elements are no floats says it
  // What ranks that are processes compare before the first step:
  std::uint64_t program = 0;  ///< program_hash of both Programs
  std::uint64_t seed = 0;
  std::uint32_t options = 0;  ///< hash of the optimizer's constants
  float learning_rate = 0;
  std::int64_t most_draws = 0;  ///< of a proof; 0 of a trainer
  Text<1000> build{};           ///< build_in_words
};

/// Groups are numbered as transport_group() does.
[[nodiscard]] HEDDLE_COLD inline TransportNeeds transport_needs(const Program& training, const Program& evaluation) {
  TransportNeeds needs;
  static_cast<RankNeeds&>(needs) = rank_needs(training, evaluation);
  for (const Axis a : group_axes) {
    if (!reduces_along(training, a)) continue;
    const int n = training.mesh.size(a);
    for (int g = 0; g < needs.ranks / n; ++g) {
      std::vector<int> members;
      for (int k = 0; k < n; ++k) members.push_back(training.mesh.member(g, a, k).value);
      needs.groups.push_back(members);
    }
  }
  needs.program = Fnv{}.add(program_hash(training), program_hash(evaluation)).value();
  needs.build = build_in_words();
  return needs;
}

}  // namespace heddle::run_room
