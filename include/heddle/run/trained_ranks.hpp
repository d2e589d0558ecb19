// SPDX-License-Identifier: MIT
// Room: run. What a trainer does once the type of its plan is forgotten: steps, evaluations, parameters by name.
// Sees: plan/program, run.  Does not see: plans as types, optimizers, any backend by name.
// In: both Programs, kernels, what the optimizer says.  Out: TrainedRanks, whose functions lie in run/trained_ranks_bodies.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/accuracy.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/loss_scale.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/parameter_source.hpp"
#include "heddle/run/reports.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/turns.hpp"

namespace heddle::run_room {

template <class Session> class LocalRanks;

/// What ranks are told of a plan. The Programs and `whole`, the model as users know it, outlive them.
/// MeanSquaredError on 10 outputs has target_features 10, CrossEntropy over 10 classes has 1.
template <class Kernels> struct PlanToTrain {
  const Program& training;
  const Program& evaluation;
  const Graph& whole;
  std::int64_t target_features;
  Kernels kernels;
};

/// What a step asks of an optimizer whose type it does not know. `holder` has its options, which may change between steps.
struct OptimizerCalls {
  void* holder;
  void (*check)(void* holder);                                         ///< throws O01 of options out of range
  void (*prepare)(void* holder, std::int64_t step, StepInput& input);  ///< constants of one step, their hash, the learning rate
};

/// The ranks of one trainer that live in this process, and what steps them. None of its functions is a template on a plan, and only clip() and
/// loss_scale() have their bodies here: a program with many plans compiles the others once for each backend, and with heddle::compiled not at all.
///
/// Errors  those of Trainer, but for what is refused at build
/// Tested  run/trained_ranks_test, run/trainer_test, equivalence/
template <class Session, class Target, class Input = float> class TrainedRanks {
 public:
  using RankExecutor = ExecutorOf<Session>;

  HEDDLE_APART TrainedRanks(const PlanToTrain<KernelsOf<Session>>& plan, const OptimizerCalls& optimizer, Seed seed, RunOptions how);
  TrainedRanks(const TrainedRanks&) = delete;
  TrainedRanks& operator=(const TrainedRanks&) = delete;
  ~TrainedRanks();
  /// Makes the ranks, with memory and first parameters.
  HEDDLE_APART void make(Seed seed);

  void on_step(std::function<void(const StepResult&)> callback, Every every);
  void observe(Observer* observer);
  [[nodiscard]] ClipOptions& clip(std::false_type /*each value*/ = {}) { return clip_; }
  [[nodiscard]] ValueClipOptions& clip(std::true_type /*each value*/) { return value_clip_; }
  [[nodiscard]] LossScale& loss_scale() { return loss_scale_; }
  HEDDLE_APART void weigh_classes(std::span<const float> weights);
  [[nodiscard]] std::int64_t steps() const;
  StepResult step(const Examples<Target, Input>& batch);
  [[nodiscard]] HEDDLE_APART Evaluation evaluate(const Examples<Target, Input>& examples);
  [[nodiscard]] HEDDLE_APART std::vector<float> predict(std::span<const Input> inputs, std::span<const FurtherRows> more = {});
  /// Of a loss that has classes, in a turn of the caller's: all batches are of the same parameters.
  HEDDLE_APART void count_right(Accuracy& counted, const Examples<Target, Input>& batch);

  /// The turn of a call, and of one that only reads.
  [[nodiscard]] HEDDLE_APART CallTurns::Turn begin(const char* call);
  [[nodiscard]] HEDDLE_APART CallTurns::Turn reading(const char* call);
  HEDDLE_APART void save(const std::string& path);
  HEDDLE_APART void load(const std::string& path);
  HEDDLE_APART void load(ParameterSource& source);
  [[nodiscard]] HEDDLE_APART std::vector<std::string> parameter_names() const;
  [[nodiscard]] HEDDLE_APART const Shape& parameter_shape(const std::string& name) const;
  [[nodiscard]] HEDDLE_APART std::vector<float> parameter(const std::string& name, int replica);
  [[nodiscard]] HEDDLE_APART std::vector<float> gradient(const std::string& name, int replica);
  HEDDLE_APART void set_parameter(const std::string& name, std::span<const float> values);
  [[nodiscard]] HEDDLE_APART std::uint64_t parameter_hash(int replica);
  [[nodiscard]] int replicas() const;

  [[nodiscard]] bool first_process() const;
  [[nodiscard]] bool local(Rank rank) const;
  [[nodiscard]] RankExecutor& executor(Rank rank);
  [[nodiscard]] Session& session();
  [[nodiscard]] const std::vector<std::string>& failures() const;
  [[nodiscard]] bool interrupted() const;

 private:
  void check_options() const;
  /// What is the same for every row of a step: numbers of the optimizer, and whether the loss is reduced.
  void prepare(StepInput& input, std::int64_t step);
  /// What the ranks know after a step.
  void take_result(StepResult& result, const StepInput& input, double divided_by);

  const Program& training_;
  const Graph& graph_;
  OptimizerCalls optimizer_;
  ClipOptions clip_;
  ValueClipOptions value_clip_;
  LossScale loss_scale_;
  Reports reports_;
  std::unique_ptr<LocalRanks<Session>> ranks_;
};

}  // namespace heddle::run_room
