// SPDX-License-Identifier: MIT
// Room: cost. Time of one step under a Machine: the lists of a Program are walked, nothing is run.
// Sees: core, plan, cost/{estimate, machine, step_walk}.  Does not see: processes, threads, kernels.
// In: a Program, a Machine.  Out: Estimate; bubble and step_seconds of a plan as constants.
#pragma once

#include <cmath>
#include <limits>

#include "heddle/core/fire.hpp"
#include "heddle/cost/estimate.hpp"
#include "heddle/cost/machine_check.hpp"
#include "heddle/cost/step_walk.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::cost_room {

[[nodiscard]] inline Estimate refused_estimate(const Diagnosis& fault) {
  Estimate found;
  found.fault = fault;
  found.step.value = std::numeric_limits<double>::quiet_NaN();
  return found;
}

/// Reads what a walk has found.
template <class Events> [[nodiscard]] Estimate estimate_of(const StepWalk<Events>& walk, const Machine& machine) {
  if (const Diagnosis fault = walk.fault(); !fault.ok()) return refused_estimate(fault);
  Estimate found;
  found.by_rank = walk.devices().by_rank();
  found.step.value = walk.step();
  for (int d = 0; d < walk.count(); ++d) {
    found.busy.push_back(Seconds{walk.busy(d)});
    found.idle.push_back(Seconds{found.step.value - walk.busy(d)});
    found.sending.push_back(Seconds{walk.meetings().sending(d)});
  }
  for (int l = 0; l <= machine.level_count(); ++l) found.levels.emplace_back(std::llround(walk.meetings().bytes(l)));
  return found;
}

/// Estimates one training or evaluation step. Whatever takes time on the machine counts: products and what is bound by memory (layers without
/// products, sums, norms, clipping, the optimizer's update), messages, calls. Only what a step does to report its loss is left out. Layers that were
/// measured take so many times as long as the machine says (`factors`).
///
/// Errors  M16, M17 as Estimate::fault, and S03 for a Program that no check has seen
/// Tested  cost/simulate_test, oracle/schedules_test, oracle/simulated_schedules_test
[[nodiscard]] inline Estimate simulate(const Program& program, const Machine& machine, const LayerFactors& factors = {}) {
  if (const Diagnosis fault = check(machine, program); !fault.ok()) return refused_estimate(fault);
  NoEvents none;
  StepWalk<NoEvents> walk{program, machine, machine.unequal(), none, factors};
  walk.run();
  return estimate_of(walk, machine);
}

/// What `read` finds in a walk of a sound plan; no number on a machine that check(machine, program) refuses for it.
template <class Read> [[nodiscard]] constexpr double read_of_walk(const Program& p, const Machine& machine, Read read) {
  if (!check(machine, p).ok()) return std::numeric_limits<double>::quiet_NaN();
  NoEvents none;
  StepWalk<NoEvents> walk{p, machine, machine.unequal(), none};
  walk.run();
  return read(walk);
}

/// When the step of a plan is over, as a constant: static_assert(step_seconds<MyPlan>(Machine{}) < 1e9).
///
/// Errors  the plan's own; on a machine or plan that check(machine, program) refuses it is no constant
/// Tested  cost/simulate_test
template <class ThePlan> [[nodiscard]] constexpr auto step_seconds(const Machine& machine) {
  if constexpr (Verdict<ThePlan>::found.ok()) {
    return read_of_walk(ThePlan::training, machine, [](const auto& walk) { return walk.step(); });
  } else {
    heard(Refusal<ThePlan>{});
    return RefusedNumber{};
  }
}

/// Share of the devices' time in which they do not compute, as a constant: static_assert(bubble<MyPlan>(Machine{}) < 0.2). The order of the lists and
/// the real work of the stages count. On a machine that check(machine, program) refuses it is no number, which is below and above nothing.
///
/// Four equal stages and eight micro-batches under OneFOneB: 3/11.
/// Errors  the plan's own
/// Tested  cost/simulate_test
template <class ThePlan> [[nodiscard]] constexpr auto bubble(const Machine& machine) {
  if constexpr (Verdict<ThePlan>::found.ok()) {
    return read_of_walk(ThePlan::training, machine, [](const auto& walk) {
      double busy = 0;
      for (int d = 0; d < walk.count(); ++d) busy += walk.busy(d);
      return walk.step() > 0 ? 1 - busy / (walk.step() * walk.count()) : 0;
    });
  } else {
    heard(Refusal<ThePlan>{});
    return RefusedNumber{};
  }
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::bubble, cost_room::simulate, cost_room::step_seconds;
}  // namespace heddle::extending
