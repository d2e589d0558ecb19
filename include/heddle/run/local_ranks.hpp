// SPDX-License-Identifier: MIT
// Room: run. The ranks of a trainer that live in this process: their calls, what they say when one fails, their tensors.
// Sees: seams, plan/program, run.  Does not see: plans as types, optimizers, any backend by name.
// In: both Programs, kernels, a session.  Out: runs of all ranks, evaluations, parameters by name.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/agreement.hpp"
#include "heddle/run/conductor.hpp"
#include "heddle/run/each_loss.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/input_elements.hpp"
#include "heddle/run/interrupted.hpp"
#include "heddle/run/locate.hpp"
#include "heddle/run/named_tensors.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/rethrow_cause.hpp"
#include "heddle/run/shared_outputs.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/token_ids.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/turns.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// What a Trainer does that does not depend on its plan's type: a program with many plans compiles it once for each session.
/// DataParallel<4> on threads has 4 executors in its process.
///
/// What a Session offers for the ranks of this process: run(job), error(rank), failed() and rethrow_first(), local(rank) which says whether one lives
/// here, first_process(), endpoint(rank), give_up(rank, why), share(owner, bytes), after which every process has the owner's bytes, reset(), which
/// says whether the ranks can go on after one of them has thrown; conduct(executors) if they share one thread, or step(executor, input) for each.
///
/// Errors  B05 and B06 batches of other sizes, R01 RankLost, R02 NonFinite, R04 a run that was interrupted between ranks, R11 a call inside another
/// Tested  run/local_ranks_test, run/trainer_test, equivalence/
template <class Session> class LocalRanks {
 public:
  using RankExecutor = ExecutorOf<Session>;
  /// The Programs and `whole`, the model as users know it, outlive this.
  HEDDLE_COLD LocalRanks(const Program& training, const Program& evaluation, const Graph& whole, std::int64_t target_features,
                         const KernelsOf<Session>& kernels, const TransportNeeds& needs, std::chrono::nanoseconds deadline)
      : training_(training), evaluation_(evaluation), graph_(whole), target_features_(target_features), kernels_(kernels), session_(needs, deadline),
        executors_(static_cast<std::size_t>(training.mesh.ranks())), tensors_(training, whole, session_, executors_) {}

  /// Makes the ranks, with memory and first parameters: where there are some already, in their place.
  HEDDLE_COLD void make(Seed seed) {
    seed_ = seed;
    if constexpr (requires { session_.forget(); }) session_.forget();
    on_every_rank([&](int r) {
      executors_[static_cast<std::size_t>(r)].reset();  // its memory is free before there is more
      executors_[static_cast<std::size_t>(r)] = std::make_unique<RankExecutor>(training_, evaluation_, kernels_, Rank{r}, session_.endpoint(Rank{r}));
    });
    session_.rethrow_first();
    tensors_.initialize_all(seed);
  }

  // ---- calls
  /// The turn of a call that runs ranks; they must agree.
  [[nodiscard]] CallTurns::Turn begin(const char* call) {
    CallTurns::Turn turn = turns_.take(call);
    refuse_interrupted();
    return turn;
  }
  /// Whether a call was interrupted, so that the parameters are those of no step: they may be looked at, and are neither saved nor loaded.
  [[nodiscard]] bool interrupted() const { return interrupted_.load() != Interrupted::never; }
  /// In a turn: what another thread interrupts is not said half.
  void refuse_interrupted() const {
    if (interrupted()) refuse_after(interrupted_.load(), std::string{interrupted_call_} + std::to_string(interrupted_step_), training_.mesh.ranks());
  }
  /// The turn of a call that reads: no other call begins while it lives. Processes read together, and so one thing after another.
  [[nodiscard]] CallTurns::Turn reading(const char* call) { return turns_.read(call, live_apart(session_, ranks())); }
  /// The turn of a call that a callback makes too, and that no other call is beside.
  [[nodiscard]] CallTurns::Turn alone(const char* call) { return turns_.read(call, true); }
  void observe(Observer* observer) { observer_.store(observer); }
  [[nodiscard]] const TargetRanges& targets() const { return kernels_.targets; }
  void weigh_classes(std::span<const float> weights) { class_weights_.assign(weights.begin(), weights.end()); }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void count(std::int64_t steps) { steps_ = steps; }

  template <class Target, class Input> [[nodiscard]] StepInput input_of(const Examples<Target, Input>& batch, const Program& program) const {
    refuse_other_inputs(graph_, element_type<Input>, batch.more);
    refuse_other_shape(graph_.model.view(), batch.input_features, batch.target_features, graph_.input.elements(), target_features_);
    refuse_other_kinds(kernels_.targets, batch.kinds);
    refuse_other_rows(program, batch.rows, steps_);
    StepInput input{&program, batch.inputs, batch.targets, batch.order, batch.rows, batch.rows, 0, false, nullptr, nullptr, observer_.load()};
    input.seed = seed_;
    for (int i = 0; i < batch.more.count; ++i) input.more_inputs[i] = batch.more.all[i].data;
    return input;
  }
  /// Returns by what the sum of its losses is divided: the rows, less those of targets that count nothing.
  double run(StepInput input) {
    count_targets(input, target_features_, class_weights_, kernels_.targets);
    failures_.clear();
    const auto work = turns_.work();
    step_on(session_, executors_, input, [&] { on_every_rank([&](int rank) { step_of(session_, executor(Rank{rank}), input); }); });
    if (session_.failed()) explain(input);
    return input.rows_of_loss(target_features_);
  }
  /// The sum over the rows of the last run, in every process.
  [[nodiscard]] float shared_loss_sum() {
    const Rank owner = training_.mesh.moved(Rank{0}, Axis::stage, training_.loss_role());
    float sum = local(owner) ? executor(owner).loss_sum() : 0;
    interrupted_call_ = "the report of the loss after step ";
    interrupted_step_ = steps_;
    // One that is lost here has ended the plan as well.
    or_interrupted(Interrupted::by_a_lost_rank, [&] { session_.share(owner, std::as_writable_bytes(std::span{&sum, 1})); });
    return sum;
  }
  template <class Target, class Input> [[nodiscard]] HEDDLE_COLD Evaluation evaluate(const Examples<Target, Input>& examples) {
    const auto turn = begin("evaluate()");
    Evaluation all{examples.rows, 0, 0, room_for_outputs(examples.rows, graph_.output().elements()), kernels_.targets};
    evaluate_rows(examples, all.outputs.data(), &all);
    return all;
  }
  /// Outputs alone, in a turn of the caller's: no target is looked at.
  template <class Target, class Input> [[nodiscard]] HEDDLE_COLD std::vector<float> outputs(const Examples<Target, Input>& examples) {
    std::vector<float> all = room_for_outputs(examples.rows, graph_.output().elements());
    evaluate_rows(examples, all.data(), nullptr);
    return all;
  }
  template <class Target, class Input = float>
  [[nodiscard]] HEDDLE_COLD std::vector<float> predict(std::span<const std::type_identity_t<Input>> inputs, std::span<const FurtherRows> more = {}) {
    const auto turn = begin("predict()");
    const std::int64_t features = graph_.input.elements(), rows = whole_rows(std::ssize(inputs), features);
    const MoreInputs others = rows_of_inputs(graph_, more, rows);
    std::vector<float> all = room_for_outputs(rows, graph_.output().elements());
    evaluate_rows(Examples<Target, Input>{inputs.data(), nullptr, rows, features, target_features_, nullptr, {}, others}, all.data(), nullptr);
    return all;
  }
  /// Rows that an evaluation takes together: the same pieces of whole grains under every layout.
  [[nodiscard]] std::int64_t rows_at_once() const {
    const std::int64_t grain = evaluation_.batch.grain_rows;
    return std::min<std::int64_t>(evaluation_.batch.capacity(), (evaluation_.batch.batch + grain - 1) / grain * grain);
  }
  // ---- tensors
  [[nodiscard]] const NamedTensors<Session>& tensors() const { return tensors_; }
  /// Tensors may be read while no rank is at work, and no call begins while they are.
  struct Resting {
    CallTurns::Turn turn;
    NamedTensors<Session>& tensors;
    [[nodiscard]] NamedTensors<Session>* operator->() const { return &tensors; }
  };
  [[nodiscard]] Resting resting(const char* call) { return {reading(call), tensors_}; }
  /// Errors  R05 no such parameter, or another size; R28 processes that give other values
  void write(const char* call, const std::string& name, std::span<const float> values) {
    const auto agree = [&](NamedTensors<Session>& tensors) {
      in_every_process(session_, ranks(), [&] { tensors.refuse_other_size(tensors.find(name), values); });
      if (!live_apart(session_, ranks())) return;
      BitHash bits;
      bits.add(values);
      refuse_other_numbers(session_, ranks(), bits.value + static_cast<std::uint64_t>(tensors.find(name)), [&](int rank) {
        return Error(Code{'R', 28},
                     written({"rank ", rank, " calls ", call,
                              " with another parameter, or other values, than rank 0, so they would not agree. Fix: give every process ",
                              "the same values of the same parameter."}));
      });
    };
    change(call, agree, [&](NamedTensors<Session>& tensors) { tensors.write(tensors.find(name), values); });
  }
  /// In a turn of its own agree(tensors), which may throw and changes nothing, and then set(tensors), which nothing should interrupt.
  template <class Agree, class Set> void change(const char* call, Agree agree, Set set) {
    const auto turn = begin(call);
    agree(tensors_);
    or_interrupted(Interrupted::while_set, [&] { set(tensors_); });
  }
  // ---- ranks
  [[nodiscard]] int ranks() const { return training_.mesh.ranks(); }
  [[nodiscard]] static constexpr Rank writing_rank() { return Rank{0}; }  // lives in first_process()
  [[nodiscard]] bool local(Rank rank) const { return executors_[static_cast<std::size_t>(rank.value)] != nullptr; }
  [[nodiscard]] RankExecutor& executor(Rank rank) { return *executors_[static_cast<std::size_t>(rank.value)]; }
  /// Of a rank that lives in this process; all know the norm, and whether all skipped.
  [[nodiscard]] RankExecutor& any_local() {
    return **std::find_if(executors_.begin(), executors_.end(), [](const auto& executor) { return executor != nullptr; });
  }
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] bool first_process() const { return session_.first_process(); }
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

 private:
  /// What `job` throws leaves the trainer interrupted.
  template <class Job> void or_interrupted(Interrupted how, Job job) {
    try {
      job();
    } catch (...) {
      interrupted_ = how;
      throw;
    }
  }
  /// Forwards of all rows, a capacity at a time; the mean of their losses if asked for.
  template <class Target, class Input>
  HEDDLE_COLD void evaluate_rows(const Examples<Target, Input>& examples, float* outputs, Evaluation* with_loss) {
    const std::int64_t most = rows_at_once();
    refuse_other_tokens(graph_, examples);
    if (with_loss != nullptr && examples.rows == 0) refuse_no_targets(0);
    const StepInput all =
        with_loss == nullptr ? StepInput{} : counted_whole(input_of(examples, evaluation_), target_features_, class_weights_, kernels_.targets);
    for (std::int64_t first = 0; first < examples.rows; first += most) {
      StepInput input = input_of(examples.slice(first, std::min(most, examples.rows - first)), evaluation_);
      input.count_as(all);
      input.reporting = with_loss != nullptr;
      input.step = steps_;
      input.outputs = outputs + first * graph_.output().elements();
      const double counted = run(input);
      share_outputs(session_, input, graph_.output().shape, [&](int replica) { return tensors_.rank_of(evaluation_.loss_role(), replica); });
      if (with_loss == nullptr) continue;
      with_loss->loss += static_cast<double>(shared_loss_sum());
      with_loss->counted += counted;
    }
    if (with_loss == nullptr) return;
    if (with_loss->counted == 0) refuse_no_targets(examples.rows);
    with_loss->loss /= with_loss->counted;
    if (kernels_.targets.several()) tell_each_loss(*with_loss, kernels_, graph_.output().shape, examples, all);
  }
  template <class Job> void on_every_rank(Job job) {
    session_.run([&](int rank) {
      try {
        job(rank);
      } catch (...) {
        session_.give_up(Rank{rank}, cause_of(rank, std::current_exception()));
        throw;
      }
    });
  }
  /// Why a rank is lost. What is no Error of Heddle comes from a kernel, an optimizer or an observer of the user: they are named. Memory anybody
  /// may lack.
  [[nodiscard]] std::string cause_of(int rank, const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      return error.what();
    } catch (const std::bad_alloc&) {
      return describe_no_memory(code_at(rank));
    } catch (...) {
      const std::string whose = code_at(rank);
      return whose.empty() ? words_of(thrown) : describe_throw(whose, words_of(thrown));
    }
  }
  /// Whose code the rank runs; empty before it is made or has begun.
  [[nodiscard]] std::string code_at(int rank) {
    if (!local(Rank{rank})) return {};
    const ProgramWalk& at = executor(Rank{rank}).walk();
    if (at.program() == nullptr) return {};
    return at.in_observer() ? "the observer" : describe_code(*at.program(), at.line(), at.entry());
  }
  /// Turns what the ranks threw into one error; parameters stay usable if no rank had begun its step.
  [[noreturn]] HEDDLE_COLD void explain(const StepInput& input) {
    interrupted_call_ = input.program->training ? "step " : "an evaluation after step ";
    interrupted_step_ = input.step;
    for (auto& executor : executors_)
      if (executor != nullptr && executor->stepped()) interrupted_ = Interrupted::in_a_step;
    if (!session_.reset() && interrupted_ != Interrupted::in_a_step) interrupted_ = Interrupted::by_a_lost_rank;
    for (int rank = 0; rank < training_.mesh.ranks(); ++rank) failures_.push_back(words_of(session_.error(rank)));
    const auto position = [&](int rank) { return describe(*input.program, executor(Rank{rank}).walk().line()); };
    const auto cause = [&](int rank) { return cause_of(rank, session_.error(rank)); };
    rethrow_cause(session_, training_.mesh.ranks(), input, position, cause, [&] { return locate(input); });
  }
  /// Where a loss that is not finite comes from: a forward of the whole batch, leaf by leaf, with the parameters as they are.
  [[nodiscard]] HEDDLE_COLD std::string locate(const StepInput& input) {
    for (int rank = 0; rank < training_.mesh.ranks(); ++rank)
      if (!local(Rank{rank})) return unlocated_non_finite(interrupted_ == Interrupted::in_a_step);  // its process is not here
    return locate_non_finite(graph_, kernels_, input, tensors_.everything(), interrupted_ == Interrupted::in_a_step);
  }

  const Program& training_;
  const Program& evaluation_;
  const Graph& graph_;
  std::int64_t target_features_;
  KernelsOf<Session> kernels_;
  std::vector<float> class_weights_;  // none: each is 1
  Session session_;
  std::vector<std::unique_ptr<RankExecutor>> executors_;  // by rank; null where the rank lives in another process
  NamedTensors<Session> tensors_;
  CallTurns turns_;
  std::atomic<Observer*> observer_ = nullptr;
  std::atomic<std::int64_t> steps_ = 0;
  Seed seed_{0};
  std::atomic<Interrupted> interrupted_ = Interrupted::never;
  std::string_view interrupted_call_;
  std::int64_t interrupted_step_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace heddle::run_room
