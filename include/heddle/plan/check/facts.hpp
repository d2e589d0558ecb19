// SPDX-License-Identifier: MIT
// Room: plan. The facts that both Programs of a plan note beside their lines: what follows from the plan, what lies where, the same for both.
// Sees: plan/check/{noted, flat, frozen, groups, arenas}, plan/program.  Does not see: lowering, policies by name, processes, threads.
// In: both Programs and what they were made from.  Out: ok, or S18 or S19.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/arenas.hpp"
#include "heddle/plan/check/flat.hpp"
#include "heddle/plan/check/frozen.hpp"
#include "heddle/plan/check/groups.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// S18, S19: what both Programs of a plan note beside their lines, which the other rules believe.
/// Tested  plan/check/facts_test, plan/check/noted_test, equivalence/lowering_faults_test
[[nodiscard]] constexpr Diagnosis check_noted(const Program& training, const Program& evaluation, const MadeFrom& from) {
  if (!training.training || evaluation.training)
    return noted_otherwise<std::int64_t>("how many of two Programs train", "", training.training + evaluation.training, 1);
  if (const Diagnosis found = NotedModel{*training.graph, from}.find(); !found.ok()) return found;
  if (const Diagnosis found = NotedHead{training, from}.find(); !found.ok()) return found;
  if (const Diagnosis found = NotedHead{evaluation, from}.find(); !found.ok()) return found;
  GroupCheck groups{training, from};
  if (groups.tables(); !groups.fault.ok()) return groups.fault;
  FlatCheck flat{training, from};
  if (flat.run(); !flat.fault.ok()) return flat.fault;
  FrozenCheck frozen{training, from};
  if (frozen.run(); !frozen.fault.ok()) return frozen.fault;
  if (groups.run(); !groups.fault.ok()) return groups.fault;
  if (const Diagnosis found = check_arenas(training, from.states); !found.ok()) return found;
  if (evaluation.graph != training.graph || evaluation.parameters != training.parameters || evaluation.buckets != training.buckets ||
      evaluation.bucket_count != training.bucket_count || evaluation.frozen_count != training.frozen_count ||
      evaluation.bucket_of_node != training.bucket_of_node || evaluation.arenas != training.arenas || evaluation.pieces != training.pieces ||
      evaluation.piece_count != training.piece_count)
    return Diagnosis{Code{'S', 18},
                     "the evaluation has other tables than the training. Fix: let both have the same parameters, buckets, arenas and pieces."};
  return check_arenas_of_evaluation(evaluation);
}

}  // namespace heddle::plan_room
