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
#include "heddle/run/input_elements.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/movable.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/trainer_arguments.hpp"
#include "heddle/run/trainer_calls.hpp"
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

/// What a Trainer of the plan inherits.
template <class Backend, class Request>
using CallsOf = TrainerCalls<typename Request::Optimizer, typename Backend::Session, typename Request::Loss::Target, InputOf<Request>>;

/// Trains one plan on one backend. Where the ranks are processes, each process makes the same trainer and the same calls in the same order, and
/// gets the same results; every process gives the whole batch, of which its rank takes its rows.
///
/// Errors  L11 of an Inference, at build; O01 an option out of range; B05 a smaller batch without a remedy, B06 a larger one; R01 RankLost,
///         R02 NonFinite, R04 a step that was interrupted between ranks; R11 a call inside another one, R13 a deadline that is none, R14 memory,
///         R15 threads; D33 at build, inputs of another type than the model takes; R27 a moved trainer; R33 a file of another kind; D07, D08 rows
/// Tested  run/trainer_test, equivalence/, fail/L11_trainer_of_an_inference, fail/D18_step_of_two_arrays, fail/D18_predict_of_a_batch,
///         fail/D18_accuracy_of_a_data_set
template <class Asked, RunsPlans Backend> class Trainer<Asked, Backend> : public CallsOf<Backend, typename TrainedOrNone<Asked>::Request> {
  static_assert(sizeof(fired<TrainerVerdict<Asked>>) > 0);
  using Calls = CallsOf<Backend, typename TrainedOrNone<Asked>::Request>;
  using ThePlan = TrainedOrNone<Asked>;
  using Input = InputOf<typename ThePlan::Request>;
  using Rows = typename Calls::Rows;
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
  using RankExecutor = typename Calls::RankExecutor;

  explicit Trainer(const Options& options, Seed seed = Seed{0}, RunOptions how = {}) try
      : Calls(TrainerVerdict<Asked>::who, Request::graph.model.view(),
              PlanToTrain<KernelTableIn<SpaceOf<typename Backend::Compute>>>{
                  ThePlan::training, ThePlan::evaluation, Request::graph, Request::target_features,
                  kernel_table<Model, typename Request::Loss, Optimizer, typename Backend::Compute, TrainerVerdict<Asked>::found.ok(),
                               ReferenceOf<Backend>, values_kept_by(ThePlan::training)>()},
              options, seed, how) {
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

  using Calls::on_step, Calls::step, Calls::evaluate, Calls::predict;
  template <class... Given>
  requires(!are_of_on_step<Given...>) void on_step(const Given&...) { refuse_on_step<!TrainerVerdict<Asked>::found.ok(), Given...>(); }
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

  /// A function: nvcc 13 rejects a static member that is a reference.
  static constexpr const Program& training_program() { return ThePlan::training; }

 private:
  using Calls::state_;
  using State = typename Calls::State;

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
};

}  // namespace heddle::run_room
