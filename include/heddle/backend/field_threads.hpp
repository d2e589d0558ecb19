// SPDX-License-Identifier: MIT
// Room: backend. FieldThreads: exact arithmetic on threads of one process, to prove a plan with. It trains nothing.
// Sees: compute/field, transport/threads, proof, run.  Does not see: any other backend, Eigen.
// In: a plan.  Out: prove<Plan>().
#pragma once

#include "heddle/backend/thread_session.hpp"
#include "heddle/compute/field/field.hpp"
#include "heddle/heddle.hpp"
#include "heddle/proof/prove.hpp"
#include "heddle/run/run_main.hpp"
#include "heddle/run/world.hpp"

namespace heddle::backend_room {

/// One thread a rank, as CpuThreads, with elements of the field.
///
/// Tested  backend/field_threads_test
struct FieldThreads {
  using Compute = FieldCompute;
  using Reference = FieldCompute;
  using Session = FieldSession<ThreadSession>;
  using SessionOfOne = FieldSession<ThreadSession>;
  using Ranks = RanksAsThreads;
};

/// prove<MyPlan>(): on threads.
///
/// Tested  backend/field_threads_test, proof/prove_test
template <class ThePlan> [[nodiscard]] Proof prove(ProofOptions how = {}) {
  using Asked = AskedToProve<ThePlan, FieldThreads>;  // asked here too: one function less in what the compiler says
  heard(static_cast<fired<Asked>*>(nullptr));
  if constexpr (Asked::found.ok())
    return prove<ThePlan, FieldThreads>(how);
  else
    return {};
}

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::prove;
}  // namespace heddle

namespace heddle::extending {
using backend_room::FieldThreads;
}  // namespace heddle::extending
