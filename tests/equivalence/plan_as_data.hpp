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

/// Trains a plan that is data on threads, as Trainer<ThePlan, CpuThreads> trains one that is a type: of all plans of a model it is one type.
template <class OfPlan> class DataTrainer {
  using Optimizer = typename OfPlan::Optimizer;

 public:
  using Target = typename OfPlan::Loss::Target;
  using Input = ElementsOf<graph_of<typename OfPlan::Model>.input.type>;
  using Session = CpuThreads::Session;

  /// The plan outlives it.
  DataTrainer(const PlanAsData& plan, const typename Optimizer::Options& options, Seed seed)
      : state_({plan.training(), plan.evaluation(), plan.graph(), plan.request().target_features,
                kernel_table<typename OfPlan::Model, typename OfPlan::Loss, Optimizer, CpuThreads::Compute>()},
               options, seed, {}) {
    state_.ranks.make(seed);
  }
  DataTrainer(const DataTrainer&) = delete;
  DataTrainer& operator=(const DataTrainer&) = delete;

  void on_step(std::function<void(const StepResult&)> callback, Every every = {}) { state_.ranks.on_step(std::move(callback), every); }
  StepResult step(const Examples<Target, Input>& batch) { return state_.ranks.step(batch); }
  [[nodiscard]] Evaluation evaluate(const Examples<Target, Input>& examples) { return state_.ranks.evaluate(examples); }
  [[nodiscard]] std::vector<float> predict(std::span<const Input> inputs) { return state_.ranks.predict(inputs); }
  [[nodiscard]] std::vector<std::string> parameter_names() const { return state_.ranks.parameter_names(); }
  [[nodiscard]] std::vector<float> parameter(const std::string& name, int replica = 0) { return state_.ranks.parameter(name, replica); }
  [[nodiscard]] std::vector<float> gradient(const std::string& name, int replica = 0) { return state_.ranks.gradient(name, replica); }
  void set_parameter(const std::string& name, std::span<const float> values) { state_.ranks.set_parameter(name, values); }
  [[nodiscard]] std::uint64_t parameter_hash(int replica = 0) { return state_.ranks.parameter_hash(replica); }
  [[nodiscard]] int replicas() const { return state_.ranks.replicas(); }
  [[nodiscard]] auto& executor(Rank rank) { return state_.ranks.executor(rank); }
  [[nodiscard]] Session& session() { return state_.ranks.session(); }

 private:
  TrainerState<Optimizer, TrainedRanks<Session, Target, Input>> state_;
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
