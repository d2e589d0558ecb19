// SPDX-License-Identifier: MIT
// Room: run. What a plan asks of a transport, as its collectives say: groups, what they carry, and how many starts may be pending.
// Sees: plan/program, plan/read, seams/concepts, run/transport_groups, run/build_flags, run/card_options.  Does not see: policies, any backend.
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
#include "heddle/plan/read/collective_needs.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/build_flags.hpp"
#include "heddle/run/card_options.hpp"
#include "heddle/run/transport_groups.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/pledge.hpp"

namespace heddle::run_room {

/// Sizes alone, known at build: memory is counted by them.
[[nodiscard]] HEDDLE_COLD constexpr RankNeeds rank_needs(const Program& training, const Program& evaluation) {
  RankNeeds needs;
  needs.ranks = training.mesh.ranks();
  const CollectiveNeeds asked = collective_needs(training, evaluation);
  std::size_t own = 0;  // number among the groups of one rank
  for (const Axis a : group_axes) {
    const AxisNeeds& along = asked.on(a);
    if (!along.any()) continue;
    needs.members[own] = training.mesh.size(a);
    needs.elements[own] = along.largest_sum();
    needs.all_groups += needs.ranks / training.mesh.size(a);
    ++own;
  }
  needs.reductions = std::max(needs.reductions, starts_under_way(training, evaluation));
  for (const Program* p : {&training, &evaluation})
    for (int i = 0; i < p->lists[p->roles - 1].end; ++i) needs.transfers = std::max(needs.transfers, p->instructions[i].sequence + 1);
  return needs;
}
static_assert(std::size(group_axes) <= RankNeeds::most_groups);

/// With the ranks of each group. DataParallel<4> with one bucket has the group {0, 1, 2, 3} and 2 reductions: of the gradient and of the loss.
struct TransportNeeds : RankNeeds {
  std::vector<std::vector<int>> groups;
  std::int64_t rows = 0;  ///< of a step: what products on cards choose their algorithms for
  CardOptions cards{};
  AddElements add = nullptr;  ///< how sums add; a pairing whose elements are no floats says it
  // What ranks that are processes compare before the first step:
  std::uint64_t program = 0;  ///< program_hash of both Programs
  std::uint64_t seed = 0;
  std::uint32_t options = 0;  ///< hash of the optimizer's constants
  float learning_rate = 0;
  std::int64_t most_draws = 0;  ///< of a proof; 0 of a trainer
  Text<1000> build{};           ///< build_in_words
};

/// Groups are numbered as GroupNumbers says.
[[nodiscard]] HEDDLE_COLD inline TransportNeeds transport_needs(const Program& training, const Program& evaluation) {
  TransportNeeds needs;
  static_cast<RankNeeds&>(needs) = rank_needs(training, evaluation);
  const CollectiveNeeds asked = collective_needs(training, evaluation);
  for (const Axis a : group_axes) {
    if (!asked.on(a).any()) continue;
    const int n = training.mesh.size(a);
    for (int g = 0; g < needs.ranks / n; ++g) {
      std::vector<int> members;
      for (int k = 0; k < n; ++k) members.push_back(training.mesh.member(g, a, k).value);
      needs.groups.push_back(members);
    }
  }
  needs.rows = training.batch.batch;
  needs.program = Fnv{}.add(program_hash(training), program_hash(evaluation)).value();
  needs.build = build_in_words();
  return needs;
}

}  // namespace heddle::run_room
