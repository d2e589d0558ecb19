// SPDX-License-Identifier: MIT
// Room: tests. A plan that the compiler lowered is lowered once more while the test runs: both are the same.
// Sees: graph, plan.  Does not see: processes, kernels.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "heddle/plan/lowered.hpp"
#include "plan/difference.hpp"

namespace heddle::tests {

/// What the compiler made of a plan or an Inference, beside what it asked.
struct CompiledPlan {
  LoweringRequest request;
  const Program* training = nullptr;  ///< of an Inference: its one Program
  const Program* evaluation = nullptr;
};
template <class ThePlan> [[nodiscard]] CompiledPlan compiled_plan() { return {request_of<ThePlan>(), &ThePlan::training, &ThePlan::evaluation}; }

/// The plan is lowered once more, from its parts as data: what comes out is what the compiler made.
inline void lowers_alike(const CompiledPlan& plan) {
  const LoweredPlan again{plan.request};
  INFO(again.fault().sentence().view());
  REQUIRE(again.fault().ok());
  CHECK(Difference(*plan.training, plan.request.trains ? again.training() : again.applied()).words() == "");
  CHECK(Difference(*plan.evaluation, plan.request.trains ? again.evaluation() : again.applied()).words() == "");
  CHECK(std::string{check(again).sentence().view()} == "");
}
template <class... Plans> void lowers_alike() { (lowers_alike(compiled_plan<Plans>()), ...); }

}  // namespace heddle::tests
