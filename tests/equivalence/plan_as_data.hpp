// SPDX-License-Identifier: MIT
// A plan that a test names as a type and that is lowered while the test runs: its ranks do what those of a Trainer do, and it costs the compiler a
// tenth of what a plan costs that the compiler lowers, checks and makes a Trainer of.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/same_bits.hpp"

namespace equivalence {

using namespace heddle;

/// The parts of a plan as data, and its Programs: sound, or the test ends. Of DataParallel<2> and Batch<64> training().mesh has 2 ranks.
class PlanAsData {
 public:
  PlanAsData(const LoweringRequest& request, const BatchRequest& rows);  // in instantiated.cpp: lowering and checks are compiled once for all tests
  [[nodiscard]] const Program& training() const { return lowered_.training(); }
  [[nodiscard]] const Program& evaluation() const { return lowered_.evaluation(); }
  [[nodiscard]] const LoweringRequest& request() const { return lowered_.request(); }
  /// The model as users know it: ranks that share layers have parts of them in training().graph.
  [[nodiscard]] const Graph& graph() const { return lowered_.request().graph; }
  [[nodiscard]] BitFacts facts() const { return {graph(), training(), request().layout, rows_}; }
  /// What is_reproducible says of a plan that is a type.
  [[nodiscard]] bool reproducible() const {
    return training().batch.tree && training().mesh.size(Axis::tensor) == 1 && !(training().clips && cuts_a_unit(graph(), request().layout));
  }

 private:
  LoweredPlan lowered_;
  BatchRequest rows_;
};

/// What only a type can be refused for is asked of the type, and all else of the data.
template <class ThePlan> [[nodiscard]] PlanAsData as_data() {
  using Request = plan_room::RequestOf<ThePlan>;
  static_assert(Request::parts.ok() && Request::named.ok() && Request::Chosen::value.fault.ok() && Request::Grouped::value.fault.ok());
  return {request_of<Request>(), Request::batch_request};
}
/// What plans share that are trained by one type.
template <class TheModel, class TheLoss, class TheOptimizer> struct Types {
  using Model = TheModel;
  using Loss = TheLoss;
  using Optimizer = TheOptimizer;
};
/// Those of a plan, which is not lowered to name them.
template <class ThePlan>
using TypesOf = Types<typename plan_room::RequestOf<ThePlan>::Model, typename plan_room::RequestOf<ThePlan>::Loss,
                      typename plan_room::RequestOf<ThePlan>::Optimizer>;

/// What is called of a trainer on threads, of any plan with this optimizer and rows of this kind: a Trainer, or what trains data.
template <class Optimizer, class Target, class Input> using CallsOnThreads = TrainerCalls<Optimizer, CpuThreads::Session, Target, Input>;

/// Trains a plan that is data on threads, as Trainer<ThePlan, CpuThreads> trains one that is a type: of all plans of a model it is one type.
template <class OfPlan>
class DataTrainer
    : public CallsOnThreads<typename OfPlan::Optimizer, typename OfPlan::Loss::Target, ElementsOf<graph_of<typename OfPlan::Model>.input.type>> {
 public:
  using Optimizer = typename OfPlan::Optimizer;
  using Target = typename OfPlan::Loss::Target;
  using Input = ElementsOf<graph_of<typename OfPlan::Model>.input.type>;

  /// The plan outlives it.
  DataTrainer(const PlanAsData& plan, const typename Optimizer::Options& options, Seed seed)
      : CallsOnThreads<Optimizer, Target, Input>(
            "Trainer", plan.graph().model.view(),
            PlanToTrain<KernelTable>{plan.training(), plan.evaluation(), plan.graph(), plan.request().target_features,
                                     kernel_table<typename OfPlan::Model, typename OfPlan::Loss, Optimizer, CpuThreads::Compute>()},
            options, seed, {}) {}
};

/// What same_bits<ThePlan, Reference>() says, of a plan that is data: empty if it is true.
template <class Reference> [[nodiscard]] std::string other_bits(const PlanAsData& plan) {
  using Request = typename Reference::Request;
  const BitFacts facts = plan.facts();
  const BitFacts wanted{Request::graph, Reference::training, Request::layout, Request::batch_request};
  return std::string{plan_room::BitComparison{facts, wanted}.find().sentence().view()};
}
/// What else decides the bits: both have one loss and one optimizer.
template <class ThePlan, class Reference>
inline constexpr bool same_types = std::is_same_v<typename TypesOf<ThePlan>::Loss, typename Reference::Request::Loss>&&
    std::is_same_v<typename TypesOf<ThePlan>::Optimizer, typename Reference::Request::Optimizer>;

}  // namespace equivalence
