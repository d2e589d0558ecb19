// SPDX-License-Identifier: MIT
// Room: tests. A plan that a type names is lowered at run time with one fault, and what the rules of facts and memory say of it.
// Sees: tests/mutants/spoil, plan/plans.hpp, plan/check.  Does not see: processes, kernels.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "heddle/plan/check/facts.hpp"
#include "mutants/spoil.hpp"
#include "plan/flow.hpp"

namespace heddle::tests {

/// What S18 and S19 say of a plan if the lowering leaves `spoil` behind after one of its phases.
template <class ThePlan> Diagnosis noted_with(After after, std::function<void(Making&)> spoil) {
  const LoweringRequest request = request_of<typename ThePlan::Request>();
  Making run{request};
  if (!lower_with(run, {"", after, std::move(spoil)})) return Diagnosis{Code{'S', 14}, "the lowering has seen it"};
  return check_noted(run.programs[0], run.programs[1], made_from(request));
}

/// What the rules of lines and entries say of it, which believe what is noted.
template <class ThePlan> bool lines_are_legal_with(After after, std::function<void(Making&)> spoil) {
  Making run{request_of<typename ThePlan::Request>()};
  return lower_with(run, {"", after, std::move(spoil)}) && check(run.programs[0]).ok() && check(run.programs[1]).ok();
}

template <class T> T& changeable(const T& table) { return const_cast<T&>(table); }

}  // namespace heddle::tests
