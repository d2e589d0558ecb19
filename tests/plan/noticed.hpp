// SPDX-License-Identifier: MIT
// Room: tests. Every plan of which a test asks for the Program is noted, without a word of the test; instantiated.cpp then lowers each once more.
// Sees: graph, plan.  Does not see: processes, kernels.
#pragma once

#include <vector>

#include "heddle/plan/inference.hpp"
#include "heddle/plan/lowered.hpp"
#include "rooms.hpp"

namespace heddle::tests {

/// A plan or an Inference whose Program stands in this test.
struct NoticedPlan {
  LoweringRequest (*request)() = nullptr;
  const Program* training = nullptr;
  const Program* evaluation = nullptr;
};
[[nodiscard]] inline std::vector<NoticedPlan>& noticed_plans() {
  static std::vector<NoticedPlan> all;
  return all;
}

/// Nothing is noted of a refused plan, which has no Program.
template <class ThePlan> bool noticed() {
  if constexpr (Verdict<ThePlan>::found.ok()) noticed_plans().push_back({request_of<ThePlan>, &ThePlan::training, &ThePlan::evaluation});
  return true;
}
template <const bool*> struct Looked {};

}  // namespace heddle::tests

namespace heddle::plan_room {

template <class... Types> struct ProgramOf<Plan<Types...>, true> : MadeProgram<Plan<Types...>, true> {
  static inline const bool noticed = tests::noticed<Plan<Types...>>();
  using Now = tests::Looked<&noticed>;  // to name its address is to initialize it when the program starts
};
template <class... Types> struct ProgramOf<Inference<Types...>, false> : MadeProgram<Inference<Types...>, false> {
  static inline const bool noticed = tests::noticed<Inference<Types...>>();
  using Now = tests::Looked<&noticed>;
};

}  // namespace heddle::plan_room
