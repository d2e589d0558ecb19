// SPDX-License-Identifier: MIT
// Room: run. Trainer: a plan on a backend, one call a step.
// Sees: seams, plan, run, graph.  Does not see: any backend by name.
// In: a Plan, a backend pairing, optimizer options, a seed.  Out: steps, evaluations, parameters by name.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/plan/backend_named.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/accuracy.hpp"
#include "heddle/run/by_rank.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/group_constants.hpp"
#include "heddle/run/input_elements.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/movable.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/parameter_source.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/trained_ranks.hpp"
#include "heddle/run/trainer_arguments.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#ifdef HEDDLE_COMPILED
#include "heddle/run/build_flags.hpp"
#else
#include "heddle/run/trained_ranks_bodies.hpp"
#endif

namespace heddle::run_room {

/// L11 of an Inference, unless it is the one of a Runner, which asks for no step; else what refuses the plan.
template <class Asked> struct TrainerVerdict {
  static constexpr Diagnosis find() {
    if constexpr (!Verdict<Asked>::found.ok())
      return Verdict<Asked>::found;
    else if constexpr (!Asked::Request::trains && !requires { Asked::is_only_applied; })
      return Diagnosis{Code{'L', 11},
                       "a Trainer is given an Inference, which has no loss and no optimizer. Fix: write Runner<...> of heddle/run/runner.hpp, or "
                       "give it a Plan."};
    else
      return {};
  }
  static constexpr Diagnosis found = find();
  static constexpr const char* who = requires { Asked::is_only_applied; }
  ? "Runner" : "Trainer";
};
/// The plan, or what stands for one that cannot be trained.
template <class Asked> using TrainedOrNone = std::conditional_t<TrainerVerdict<Asked>::found.code == Code{'L', 11}, NoPlan, PlanOrNone<Asked>>;
/// Another check of a plan that is trained; of a refused plan, or of none, nothing more is asked.
template <class Asked, class Check> using OfTrained = std::conditional_t<TrainerVerdict<Asked>::found.ok(), Check, Verdict<NoPlan>>;

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

/// Trains one plan on one backend. Where the ranks are processes, each process makes the same trainer and the same calls in the same order, and
/// gets the same results; every process gives the whole batch, of which its rank takes its rows.
///
/// Errors  L11 of an Inference, at build; O01 an option out of range; B05 a smaller batch without a remedy, B06 a larger one; R01 RankLost,
///         R02 NonFinite, R04 a step that was interrupted between ranks; R11 a call inside another one, R13 a deadline that is none, R14 memory,
///         R15 threads; D33 at build, inputs of another type than the model takes; R27 a moved trainer; R33 a file of another kind; D07, D08 rows
/// Tested  run/trainer_test, equivalence/, fail/L11_trainer_of_an_inference, fail/D18_step_of_two_arrays, fail/D18_predict_of_a_batch,
///         fail/D18_accuracy_of_a_data_set
template <class Asked, RunsPlans Backend> class Trainer<Asked, Backend> {
  static_assert(sizeof(fired<TrainerVerdict<Asked>>) > 0);
  using ThePlan = TrainedOrNone<Asked>;
  using Input = InputOf<typename ThePlan::Request>;
  using Rows = Examples<typename ThePlan::Request::Loss::Target, Input>;
  using Kernels = CheckedKernels<typename ThePlan::Request::Model, typename Backend::Compute, ThePlan::training.splits_backward>;
  using OfLoss = CheckedLoss<typename ThePlan::Request::Loss, typename Backend::Compute>;
  static_assert(sizeof(fired<OfTrained<Asked, Kernels>>) > 0 && sizeof(fired<OfTrained<Asked, OfLoss>>) > 0);

 public:
  using Request = typename ThePlan::Request;
  using Model = typename Request::Model;
  using Optimizer = typename Request::Optimizer;
  using Target = typename Request::Loss::Target;
  using Options = typename Optimizer::Options;
  using Session = typename Backend::Session;
  using RankExecutor = ExecutorOf<Session>;

  explicit Trainer(const Options& options, Seed seed = Seed{0}, RunOptions how = {}) try
      : state_(TrainerVerdict<Asked>::who, Request::graph.model.view(),
               PlanToTrain<KernelTableIn<SpaceOf<typename Backend::Compute>>>{
                   ThePlan::training, ThePlan::evaluation, Request::graph, Request::target_features,
                   kernel_table<Model, typename Request::Loss, Optimizer, typename Backend::Compute, TrainerVerdict<Asked>::found.ok(),
                                ReferenceOf<Backend>, values_kept_by(ThePlan::training)>()},
               options, seed, how) {
    state_->ranks.make(seed);
  } catch (const std::bad_alloc&) {
    refuse_memory(ThePlan::training.arenas[0].total);
  }
  // O04, where nothing else fits; R30 of a copy: std::is_copy_constructible_v, which asks about a const trainer, stays false.
  template <bool Told = true> explicit Trainer(const OptionsByMistake&, Seed = Seed{0}, RunOptions = {}) : Trainer(Options{}) {
    refuse_trainer_arguments<Told>();
  }
  template <OtherThan<Options> First> explicit Trainer(const First&, const Options&, RunOptions = {}) : Trainer(Options{}) {
    refuse_trainer_arguments<sizeof(First) != 0>();
  }
  template <class... Given> explicit Trainer(const Given&...) : Trainer(Options{}) { refuse_trainer_arguments<sizeof...(Given) < 99>(); }
  // NOLINTNEXTLINE(google-explicit-constructor): `auto second = first` is an implicit conversion
  template <std::same_as<Trainer> Other> Trainer(Other& copy) : Trainer(copy.state_->options) { refuse_copy<Other>(); }

  /// The loss of every `every`-th step is reduced over the ranks, and the callback, if there is one, is told. Other steps have no loss to read.
  /// A callback may replace itself; it may read parameters, and calls no step, evaluation or set_parameter.
  void on_step(std::function<void(const StepResult&)> callback, Every every = {}) { state_->ranks.on_step(std::move(callback), every); }
  template <class... Given>
  requires(!are_of_on_step<Given...>) void on_step(const Given&...) { refuse_on_step<!TrainerVerdict<Asked>::found.ok(), Given...>(); }
  /// From the next call on; a call that is under way keeps the observer that it began with, which must outlive it.
  void observe(Observer* observer) { state_->ranks.observe(observer); }
  [[nodiscard]] Options& optimizer() { return state_->options; }
  [[nodiscard]] auto& clip() {  // ClipOptions or ValueClipOptions
    static_assert(Request::clips || Request::groups.clips_values || !TrainerVerdict<Asked>::found.ok(),
                  "[heddle.O05] the plan does not clip. Fix: add Clip<GlobalNorm> to it.");
    return state_->ranks.clip(std::bool_constant<Request::groups.clips_values>{});
  }
  [[nodiscard]] LossScale& loss_scale() {
    static_assert(Request::scales_loss || !TrainerVerdict<Asked>::found.ok(),
                  "[heddle.O05] the plan does not scale its loss. Fix: add LossScaling to it.");
    return state_->ranks.loss_scale();
  }
  /// What each class weighs from the next call on, one number a class, in the loss of steps and evaluations: of a plan with
  /// CrossEntropyWith<ClassWeights>. Every process gives the same. Without a call each weighs 1. Errors  O01 another number of weights, one below 0,
  /// or all 0; O05 at build, of a loss that weighs no classes
  void class_weights(std::span<const float> weights) {
    static_assert(weighs_classes<typename Request::Loss>() || !TrainerVerdict<Asked>::found.ok(),
                  "[heddle.O05] the loss of the plan weighs no classes. Fix: name CrossEntropyWith<ClassWeights>.");
    state_->ranks.weigh_classes(weights);
  }
  void class_weights(std::initializer_list<float> weights) { class_weights(std::span{weights.begin(), weights.size()}); }
  [[nodiscard]] std::int64_t steps() const { return state_->ranks.steps(); }
  /// One optimizer step on one global batch; every rank takes its rows of it.
  StepResult step(const Rows& batch) { return state_.shared_state()->ranks.step(batch); }
  template <class T, class I> StepResult step(const Examples<T, I>&) {
    static_assert(sizeof(fired<OfTrained<Asked, WrongRows<Request, T, I>>>) > 0);
    return {};
  }
  template <class... Given>
  requires(!is_batch<Rows, Given...>) StepResult step(const Given&...) {
    static_assert(
        is_batch<Rows, Given...> || !TrainerVerdict<Asked>::found.ok(),
        "[heddle.D18] step() takes one batch. Fix: give it examples(inputs, targets, features), or each batch of data.in_order().batches<64>().");
    return {};
  }

  /// Loss and outputs without a step, for any number of rows.
  [[nodiscard]] Evaluation evaluate(const Rows& examples) { return state_.shared_state()->ranks.evaluate(examples); }
  template <class T, class I> [[nodiscard]] Evaluation evaluate(const Examples<T, I>&) {
    static_assert(sizeof(fired<OfTrained<Asked, WrongRows<Request, T, I>>>) > 0);
    return {};
  }
  template <class... Given>
  requires(!is_batch<Rows, Given...>) Evaluation evaluate(const Given&...) {
    static_assert(
        is_batch<Rows, Given...> || !TrainerVerdict<Asked>::found.ok(),
        "[heddle.D18] evaluate() takes one batch. Fix: give it examples(inputs, targets, features), or each batch of data.in_order().batches<64>().");
    return {};
  }

  /// Outputs (rows, output features) for inputs without targets, in the order of the rows.
  [[nodiscard]] std::vector<float> predict(std::span<const Input> inputs) { return state_.shared_state()->ranks.predict(inputs); }
  [[nodiscard]] std::vector<float> predict(std::initializer_list<Input> inputs) { return predict(std::span{inputs.begin(), inputs.size()}); }
  /// The same of a model that begins with Inputs<...>: one array for each, in their order.
  template <class... More>
  requires(are_several_inputs<Input, std::span<const Input>, More...>)
      [[nodiscard]] std::vector<float> predict(std::span<const Input> inputs, const More&... more) {
    const FurtherRows others[] = {further_rows(std::span<const ElementOf<const More&>>{more})...};
    return state_.shared_state()->ranks.predict(inputs, others);
  }
  template <class... Given>
  requires(!are_inputs<Input, Given...> && !are_several_inputs<Input, Given...>) std::vector<float> predict(const Given&...) {
    if constexpr (are_other_inputs<Input, Given...>)
      static_assert(sizeof(fired<OfTrained<Asked, WrongInputs<Request, FirstElementOf<Given...>>>>) > 0);
    else
      static_assert(are_inputs<Input, Given...> || !TrainerVerdict<Asked>::found.ok(),
                    "[heddle.D18] predict() takes inputs without targets, as floats, token ids or bytes. Fix: write evaluate(batch).outputs, or of a "
                    "data set evaluate(data.all()).outputs.");
    return {};
  }

  /// The share of positions whose largest output is the label: of a batch of any number of rows, or of batches, as data.batches<64>()
  /// gives them. It holds the outputs of one batch of the plan at a time. Of several losses it is that of one, as accuracy<"digit">(rows).
  template <Name... Of, class Given> [[nodiscard]] double accuracy(const Given& rows) {
    using Asks = AccuracyOf<typename Request::Loss, Of...>;
    check_accuracy<Asks, TrainerVerdict<Asked>::found.ok()>();
    const auto state = state_.shared_state();  // for all batches: an observer may move the trainer between two of them
    const auto turn = state->ranks.begin("accuracy()");
    Accuracy counted = Asks::begun(Request::graph.output());
    if constexpr (Asks::of_classes && Asks::of_one_loss) count_right(*state, counted, rows);
    return counted.share();
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
  [[nodiscard]] Session& session() { return state_->ranks.session(); }
  /// True after a call was interrupted between ranks: the parameters are those of no step. They can be read, but not saved or loaded (R04).
  [[nodiscard]] bool interrupted() const { return state_->ranks.interrupted(); }
  /// What each rank said when the last call failed; empty where nothing was thrown.
  [[nodiscard]] const std::vector<std::string>& failures() const { return state_->ranks.failures(); }

  /// A function: nvcc 13 rejects a static member that is a reference.
  static constexpr const Program& training_program() { return ThePlan::training; }

 private:
  using State = TrainerState<Optimizer, TrainedRanks<Session, Target, Input>>;

  static void count_right(State& s, Accuracy& counted, const Rows& batch) { s.ranks.count_right(counted, batch); }
  template <class T, class I> static void count_right(State&, Accuracy&, const Examples<T, I>&) {
    static_assert(sizeof(fired<OfTrained<Asked, WrongRows<Request, T, I>>>) > 0);
  }
  template <class Given> static void count_right(State& s, Accuracy& counted, const Given& rows) {
    if constexpr (std::is_convertible_v<Given, Rows>) {
      count_right(s, counted, static_cast<const Rows&>(rows));
    } else if constexpr (requires { rows.all(); }) {
      static_assert(std::is_void_v<Given>, "[heddle.D18] accuracy() takes a batch, or batches. Fix: write accuracy(data.all()).");
    } else if constexpr (requires { rows.begin(); }) {
      for (const auto& batch : rows) count_right(s, counted, batch);
    } else {
      static_assert(std::is_void_v<Given>, "[heddle.D18] accuracy() takes a batch, or batches. Fix: data.in_order().batches<64>().");
    }
  }
  Movable<State> state_;
};

}  // namespace heddle::run_room
