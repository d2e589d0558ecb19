// SPDX-License-Identifier: MIT
// Room: run. What is called of a Trainer and asks nothing of its plan: steps, evaluations, parameters by name and in files.
// Sees: seams, plan/program, run.  Does not see: plans as types, any backend by name.
// In: both Programs, kernels, options of an optimizer.  Out: TrainerCalls, from which Trainer derives.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/rule.hpp"
#include "heddle/run/by_rank.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/group_constants.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/movable.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/parameter_source.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/trained_ranks.hpp"
#include "heddle/run/trainer_arguments.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// All that a trainer is. Its ranks, threads and callbacks know its address, so the state stays where it is when the trainer is moved. It knows no
/// plan: twenty plans of one optimizer, one kind of targets and one backend have one type of state, which is compiled once for all of them.
template <class Optimizer, class Ranks> struct TrainerState {
  using Options = typename Optimizer::Options;
  template <class Kernels = KernelTable>
  TrainerState(const PlanToTrain<Kernels>& plan, const Options& given, Seed seed, RunOptions how)
      : options(given), groups(plan.training.groups), ranks(plan, {this, &check, &prepare}, seed, how) {}
  static void check(void* holder) {
    const TrainerState& state = *static_cast<TrainerState*>(holder);
    if (const Diagnosis wrong = GroupConstants<Optimizer>::check(state.options, state.groups); !wrong.ok()) throw Error(wrong);
  }
  static void prepare(void* holder, std::int64_t step, StepInput& input) {
    TrainerState& state = *static_cast<TrainerState*>(holder);
    input.constants = state.constants.make(state.options, step, state.groups);
    input.constants_bytes = sizeof(typename Optimizer::Constants);
    input.options = state.constants.hash();
    input.learning_rate = learning_rate_of(state.options);
  }
  Options options;
  ParameterGroups groups;
  GroupConstants<Optimizer> constants;  // of the step in hand
  Ranks ranks;
};

/// The calls of a Trainer that are alike for all plans of one optimizer, one kind of rows and one backend: a program with twenty such plans compiles
/// them, and functions that take a TrainerCalls, once. Trainer says more of each.
///
/// Errors  those of Trainer, but for what is refused at build of its plan
/// Tested  run/trainer_calls_test, run/trainer_test, equivalence/
template <class TheOptimizer, class TheSession, class TheTarget, class TheInput> class TrainerCalls {
 protected:
  using Rows = Examples<TheTarget, TheInput>;

 public:
  using Options = typename TheOptimizer::Options;
  using RankExecutor = ExecutorOf<TheSession>;

  /// The loss of every `every`-th step is reduced over the ranks, and the callback, if there is one, is told. Other steps have no loss to read.
  /// A callback may replace itself; it may read parameters, and calls no step, evaluation or set_parameter.
  void on_step(std::function<void(const StepResult&)> callback, Every every = {}) { state_->ranks.on_step(std::move(callback), every); }
  /// From the next call on; a call that is under way keeps the observer that it began with, which must outlive it.
  void observe(Observer* observer) { state_->ranks.observe(observer); }
  [[nodiscard]] Options& optimizer() { return state_->options; }
  [[nodiscard]] std::int64_t steps() const { return state_->ranks.steps(); }
  /// One optimizer step on one global batch; every rank takes its rows of it.
  StepResult step(const Rows& batch) { return state_.shared_state()->ranks.step(batch); }
  /// Loss and outputs without a step, for any number of rows.
  [[nodiscard]] Evaluation evaluate(const Rows& examples) { return state_.shared_state()->ranks.evaluate(examples); }

  /// Outputs (rows, output features) for inputs without targets, in the order of the rows.
  [[nodiscard]] std::vector<float> predict(std::span<const TheInput> inputs) { return state_.shared_state()->ranks.predict(inputs); }
  [[nodiscard]] std::vector<float> predict(std::initializer_list<TheInput> inputs) { return predict(std::span{inputs.begin(), inputs.size()}); }
  /// The same of a model that begins with Inputs<...>: one array for each, in their order.
  template <class... More>
  requires(are_several_inputs<TheInput, std::span<const TheInput>, More...>)
      [[nodiscard]] std::vector<float> predict(std::span<const TheInput> inputs, const More&... more) {
    const FurtherRows others[] = {further_rows(std::span<const ElementOf<const More&>>{more})...};
    return state_.shared_state()->ranks.predict(inputs, others);
  }

  // ---- parameters in a file
  /// Writes all parameters as safetensors, under their state_dict names: whole and in one moment, or not at all.
  /// Errors  D20 unwritable, in every process; R04 after a step that was interrupted between ranks; D31 at build of what is no path
  template <class Path> void save(const Path& path) {
    static_assert(is_path<Path>, "[heddle.D31] save() takes the path of a file. Fix: give a string, a string_view or a std::filesystem::path.");
    if constexpr (is_path<Path>) state_.shared_state()->ranks.save(path_text(path, Code{'D', 20}));
  }
  /// Takes all parameters by name from a file, a TensorFile, a Runner or a trainer under any plan. They must be those of the model: every one, in its
  /// shape, and none besides. All differences stand in one sentence, and nothing is changed if there are any.
  /// Errors  D01 unreadable; D16 tensors of another model; D21 to D28 a damaged file; R28 processes with other parameters; R04 of this trainer or of
  /// one
  ///         that is loaded, if a call of it was interrupted; D31 at build of another source
  template <class Source> void load(Source&& source) {
    static_assert(
        is_parameter_source<std::remove_reference_t<Source>>,
        "[heddle.D31] load() takes a path, a TensorFile, a Runner or a Trainer, of which the last two are not const. Fix: name a file, as in "
        "load(path), or give it what has the parameters.");
    if constexpr (is_path<std::remove_reference_t<Source>>) {
      state_.shared_state()->ranks.load(path_text(source));
    } else if constexpr (is_parameter_source<std::remove_reference_t<Source>>) {
      SourceOf<std::remove_reference_t<Source>> given{source};
      state_.shared_state()->ranks.load(given);
    }
  }

  // ---- tensors by their state_dict names
  [[nodiscard]] std::vector<std::string> parameter_names() const { return state_->ranks.parameter_names(); }
  [[nodiscard]] const Shape& parameter_shape(const std::string& name) const { return state_->ranks.parameter_shape(name); }
  /// The parameter as the first replica holds it, or as `replica` does.
  [[nodiscard]] std::vector<float> parameter(const std::string& name, int replica = 0) { return state_->ranks.parameter(name, replica); }
  /// The gradient of the last step, of the mean loss, summed over all ranks, as the optimizer was given it: unscaled and clipped.
  [[nodiscard]] std::vector<float> gradient(const std::string& name, int replica = 0) { return state_->ranks.gradient(name, replica); }
  /// Sets a parameter on every rank that holds it.
  /// Errors  R05 no such parameter, or another size; R28 processes that give other values
  void set_parameter(const std::string& name, std::span<const float> values) { state_->ranks.set_parameter(name, values); }
  void set_parameter(const std::string& name, std::initializer_list<float> values) { set_parameter(name, std::span{values.begin(), values.size()}); }
  /// FNV-1a over the bytes of all parameters in the order of the model: the same number for the same bits.
  [[nodiscard]] std::uint64_t parameter_hash(int replica = 0) { return state_->ranks.parameter_hash(replica); }
  /// No call begins while it lives (R11), so that all parameters that are read are of one step: load() of this trainer by another one has it.
  [[nodiscard]] auto reading(const char* call = "reading()") { return state_->ranks.reading(call); }
  [[nodiscard]] int replicas() const { return state_->ranks.replicas(); }
  /// True in one process only: the one that prints and writes files.
  [[nodiscard]] bool first_process() const { return state_->ranks.first_process(); }
  /// Whether the rank lives in this process; only then it has an executor here.
  [[nodiscard]] bool local(Rank rank) const { return state_->ranks.local(rank); }
  [[nodiscard]] RankExecutor& executor(Rank rank) { return state_->ranks.executor(rank); }
  [[nodiscard]] TheSession& session() { return state_->ranks.session(); }
  /// True after a call was interrupted between ranks: the parameters are those of no step. They can be read, but not saved or loaded (R04).
  [[nodiscard]] bool interrupted() const { return state_->ranks.interrupted(); }
  /// What each rank said when the last call failed; empty where nothing was thrown.
  [[nodiscard]] const std::vector<std::string>& failures() const { return state_->ranks.failures(); }

 protected:
  using State = TrainerState<TheOptimizer, TrainedRanks<TheSession, TheTarget, TheInput>>;

  /// `who` is what sentences call the trainer, and `model` what it trains; the words and the plan outlive it.
  template <class Kernels>
  TrainerCalls(const char* who, std::string_view model, const PlanToTrain<Kernels>& plan, const Options& options, Seed seed, RunOptions how)
      : state_(who, model, plan, options, seed, how) {
    state_->ranks.make(seed);
  }
  TrainerCalls(TrainerCalls&&) noexcept = default;
  TrainerCalls& operator=(TrainerCalls&&) noexcept = default;
  ~TrainerCalls() = default;

  Movable<State> state_;
};

}  // namespace heddle::run_room
