// SPDX-License-Identifier: MIT
// Room: cost. The fastest of some plans that are types, chosen by the compiler; and of the usual plans of so many devices.
// Sees: plan, policy, cost/simulate.  Does not see: processes, threads, kernels.
// In: a machine that is a type, plans or parts of plans.  Out: Fastest, Auto, ForDevices.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include "heddle/cost/machine.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/hybrid.hpp"
#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/single.hpp"
#include "heddle/policy/tensor_parallel.hpp"

namespace heddle::cost_room {

/// A machine that is a type: struct Cluster { static constexpr Machine machine = h100_nodes(); };
template <class M>
concept MachineType = requires {
  { M::machine } -> std::convertible_to<const Machine&>;
};

/// Seconds of a step; of a plan that a rule refuses, or that does not fit on the machine, more than all others.
template <class ThePlan> [[nodiscard]] constexpr double seconds_or_never(const Machine& machine) {
  constexpr double never = std::numeric_limits<double>::max();
  if constexpr (Verdict<ThePlan>::found.ok()) {
    const double seconds = step_seconds<ThePlan>(machine);
    return seconds < never ? seconds : never;  // no number where it does not fit
  } else {
    return never;
  }
}

/// Which of some plans is the fastest; the first of two that take as long, or if none can be.
template <MachineType M, class... Plans> struct FastestOf {
  static constexpr double seconds[sizeof...(Plans)] = {seconds_or_never<Plans>(M::machine)...};
  static constexpr std::size_t number = [] {
    std::size_t best = 0;
    for (std::size_t i = 1; i < sizeof...(Plans); ++i)
      if (seconds[i] < seconds[best]) best = i;
    return best;
  }();
};
/// The plan of a number among some.
template <std::size_t Number, class First, class... More> struct PlanAt : PlanAt<Number - 1, More...> {};
template <class First, class... More> struct PlanAt<0, First, More...> { using type = First; };

/// The fastest of some plans on a machine, chosen while the program is compiled: Fastest<Cluster, Plan<...>, Plan<...>>. Plans that a rule refuses,
/// or that are larger than the machine, are passed over. If all are, it is the first of them, and whoever uses it is told what refuses that.
///
/// Errors  those of the first plan, if none can be
/// Tested  cost/search/auto_plan_test, fail/C01_no_plan_of_auto_fits
template <MachineType M, class... Plans> using Fastest = typename PlanAt<FastestOf<M, Plans...>::number, Plans...>::type;

/// How many devices a plan is chosen for: ForDevices<4>.
template <int Number> struct ForDevices { static constexpr int number = Number; };

/// The usual plans of N devices: one axis, or two with 2 ranks on the inner one where 2 divides N. Of 3 devices there are five, of 4 eight.
template <int N, bool Halves, class... Parts> struct UsualPlans {
  template <int S> using Staged = Pipeline<Balanced<S>, OneFOneB, Microbatches<2 * S>>;
  template <MachineType M, class... Products>
  using OneAxisOr = Fastest<M, Plan<Parts..., DataParallel<N>>, Plan<Parts..., Sharded<N, OptimizerState>>, Plan<Parts..., Sharded<N>>,
                            Plan<Parts..., TensorParallel<N>>, Plan<Parts..., Staged<N>>, Plan<Parts..., Products>...>;
  template <MachineType M> using FastestOn = OneAxisOr<M>;
};
template <int N, class... Parts> struct UsualPlans<N, true, Parts...> {
  using OneAxis = UsualPlans<N, false, Parts...>;
  template <int S> using Staged = typename OneAxis::template Staged<S>;
  template <MachineType M>
  using FastestOn = typename OneAxis::template OneAxisOr<M, Hybrid<TensorParallel<2>, DataParallel<N / 2>>, Hybrid<Staged<2>, DataParallel<N / 2>>,
                                                         Hybrid<TensorParallel<2>, Staged<N / 2>>>;
};
template <class... Parts> struct UsualPlans<1, false, Parts...> { template <MachineType M> using FastestOn = Plan<Parts..., Single>; };

/// The fastest of the usual plans. That of 3 devices has 3.
template <int N, MachineType M, class... Parts> struct AutoPlan {
  using type = typename UsualPlans<N, N % 2 == 0, Parts...>::template FastestOn<M>;
  static_assert(!Verdict<type>::found.ok() || Answers<type>::devices == N);  // who uses a plan that is refused is told why
};

/// A Plan of these parts whose policy the compiler chooses, for a machine of a type: Auto<ForDevices<4>, Cluster, Net, CrossEntropy, Adam,
/// Batch<64>>. Other parts, such as Memory<80_GB> or Recompute<EveryBlock>, stand beside them. Eight plans are lowered and simulated, five where
/// the devices are odd; `search` tries all products.
///
/// Errors  those of DataParallel<N>, if none can be
/// Tested  cost/search/auto_plan_test, fail/C01_no_plan_of_auto_fits
template <class Number, MachineType M, class... Parts> using Auto = typename AutoPlan<Number::number, M, Parts...>::type;

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Auto, cost_room::ForDevices, cost_room::Fastest;
}  // namespace heddle::extending
