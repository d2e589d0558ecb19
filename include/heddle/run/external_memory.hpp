// SPDX-License-Identifier: MIT
// Room: run. Memory of one device beside its arena: what kernels, a transport and a trainer add to a plan on one backend.
// Sees: plan, run/transport_needs.  Does not see: any backend by name.
// In: a Plan, a backend.  Out: external_memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/core/units.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/initialize.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/wide_tensors.hpp"

namespace heddle::run_room {

/// What a trainer keeps for one rank: a piece of a parameter while they are made, a number for each start, names and small lists.
[[nodiscard]] constexpr Bytes trainer_memory(const Program& training, const Program& evaluation) {
  constexpr Bytes small_lists = 32_KiB;
  std::int64_t starts = 2 * std::int64_t{training.bucket_count} + training.frozen_count + 2;
  for (const Program* p : {&training, &evaluation})
    for (int i = 0; i < p->lists[p->roles - 1].end; ++i) starts = std::max(starts, std::int64_t{p->instructions[i].token} + 1);
  return Bytes{float_bytes * initial_piece} + 3 * starts * Bytes{sizeof(std::int64_t)} + small_lists;
}

/// Memory that a backend takes on each device beside its arena, once a trainer is made: scratch of kernels, sums and pending starts of the transport,
/// lists of the trainer. What calls hand out, stacks and what MPI takes itself are left out. A pairing states the parts:
///   static constexpr Bytes Compute::workspace;      static constexpr Bytes Session::memory(const RankNeeds&);
///
/// Errors  L06
/// Tested  run/external_memory_test, equivalence/memory_mpi_test
template <class ThePlan, class Backend> [[nodiscard]] constexpr Bytes external_memory() {
  const Program& training = lower<ThePlan>();
  const Program& evaluation = PlanOrNone<ThePlan>::evaluation;
  Bytes sum;
  if constexpr (requires { Backend::Compute::workspace; }) {
    using Request = plan_room::RequestOf<ThePlan>;
    using Kernels = ModelKernels<typename Request::Model, typename Backend::Compute, values_kept_by(lower<ThePlan>())>;
    sum += Backend::Compute::workspace + Kernels::collected.scratch;
    if constexpr (requires { typename Backend::Session; }) {
      sum += wide_bytes(training, Kernels::collected.leaves, LossTakesBFloat16<typename Request::Loss, typename Backend::Compute>);
      Bytes rounded;
      for (int role = 0; role < training.roles; ++role) rounded = std::max(rounded, rounded_bytes(training, Kernels::collected.leaves, role));
      sum += rounded;
    }
  }
  if constexpr (requires { typename Backend::Session; }) sum += trainer_memory(training, evaluation);
  if constexpr (requires { Backend::Session::memory(RankNeeds{}); }) sum += Backend::Session::memory(rank_needs(training, evaluation));
  return sum;
}

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::external_memory;
}  // namespace heddle::extending
