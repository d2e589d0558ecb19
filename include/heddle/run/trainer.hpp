// SPDX-License-Identifier: MIT
// Room: run. Trainer: a plan on a backend, one call a step.
// Sees: plan, run, graph.  Does not see: any backend by name.
// In: a Plan, a backend pairing, optimizer options, a seed.  Out: steps, evaluations, parameters by name.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "heddle/plan/plan.hpp"
#include "heddle/run/backend_named.hpp"
#include "heddle/run/error.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/locate.hpp"
#include "heddle/run/loss_scale.hpp"
#include "heddle/run/named_tensors.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/reports.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/rethrow_cause.hpp"
#include "heddle/run/shared_outputs.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/token_ids.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/turns.hpp"

namespace heddle::inline run_room {

/// Trains one plan on one backend. Where the ranks are processes, each process makes the same trainer and the same calls in the same order, and
/// gets the same results; every process gives the whole batch, of which its rank takes its rows.
///
/// What a Session offers: run(job), error(rank), failed() and rethrow_first() for the ranks that live in this process, local(rank) which says
/// whether one does, first_process(), endpoint(rank), give_up(rank, why), share(owner, bytes), after which every process has the owner's bytes,
/// and reset(), which says whether the ranks can go on after one of them has thrown.
///
/// Errors  O01 an option out of range; B05 a smaller batch without a remedy, B06 a larger one; R01 RankLost, R02 NonFinite, R04 a step that was
///         interrupted between ranks; R11 a call inside another one, R13 a deadline that is none, R14 memory, R15 threads; D07, D08 rows and labels
/// Tested  run/trainer_test, equivalence/
template <class Asked, RunsPlans Backend> class Trainer<Asked, Backend> {
  static_assert(sizeof(fired<Verdict<Asked>>) > 0);
  using ThePlan = PlanOrNone<Asked>;
  using Kernels = CheckedKernels<typename ThePlan::Request::Model, typename Backend::Compute, ThePlan::training.splits_backward>;
  using OfLoss = CheckedLoss<typename ThePlan::Request::Loss, typename Backend::Compute>;
  static_assert(sizeof(fired<OfSound<Asked, Kernels>>) > 0 && sizeof(fired<OfSound<Asked, OfLoss>>) > 0);

 public:
  using Request = typename ThePlan::Request;
  using Model = typename Request::Model;
  using Optimizer = typename Request::Optimizer;
  using Target = typename Request::Loss::Target;
  using Options = typename Optimizer::Options;
  using Session = typename Backend::Session;
  using RankExecutor = Executor<typename Session::Endpoint>;

  explicit Trainer(const Options& options, Seed seed = Seed{0}, RunOptions how = {}) try
      : options_(options), kernels_(kernel_table<Model, typename Request::Loss, Optimizer, typename Backend::Compute, Verdict<Asked>::found.ok()>()),
        session_(transport_needs<Optimizer>(training, evaluation, options, seed), how.deadline),
        executors_(static_cast<std::size_t>(devices<ThePlan>)), tensors_(session_, executors_) {
    check_options();
    on_every_rank([&](int r) {
      executors_[static_cast<std::size_t>(r)] = std::make_unique<RankExecutor>(training, evaluation, kernels_, Rank{r}, session_.endpoint(Rank{r}));
    });
    session_.rethrow_first();
    tensors_.initialize_all(seed);
  } catch (const std::bad_alloc&) {
    refuse_memory(training.arenas[0].total);
  }

  /// The loss of every `every`-th step is reduced over the ranks, and the callback, if there is one, is told. Other steps have no loss to read.
  /// A callback may replace itself; it may read parameters, and calls no step, evaluation or set_parameter.
  void on_step(std::function<void(const StepResult&)> callback, Every every = {}) {
    turns_.refuse_at_work("on_step()");
    reports_.set(std::move(callback), every);
  }
  /// From the next call on; a call that is under way keeps the observer that it began with, which must outlive it.
  void observe(Observer* observer) { observer_.store(observer); }
  [[nodiscard]] Options& optimizer() { return options_; }
  [[nodiscard]] ClipOptions& clip() {
    static_assert(Request::clips, "clip(): the plan does not clip. Fix: add Clip<GlobalNorm> to it.");
    return clip_;
  }
  [[nodiscard]] LossScale& loss_scale() {
    static_assert(Request::scales_loss, "loss_scale(): the plan does not scale its loss. Fix: add LossScaling to it.");
    return loss_scale_;
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// One optimizer step on one global batch; every rank takes its rows of it.
  StepResult step(const Examples<Target>& batch) {
    const auto turn = begin("step()");
    check_options();
    StepResult result{steps_ + 1, 0, reports_.loss_of(steps_ + 1)};
    StepInput input = input_of(batch, training);
    refuse_other_tokens(Request::graph, batch);
    if (batch.rows < capacity_rows()) {
      if (Request::batch.remedy == Remedy::drop) return StepResult{steps_};
      if (Request::batch.remedy == Remedy::pad) input.rows = capacity_rows();
    }
    input.rows = std::min<std::int64_t>(input.rows, training.batch.capacity());
    const typename Optimizer::Constants constants = Optimizer::constants(options_, result.step);
    input.constants = &constants;
    input.options = hash_of_constants(constants);
    input.learning_rate = learning_rate_of(options_);
    input.step = result.step;
    input.max_norm = clip_.max_norm;
    input.loss_scale = loss_scale_.scale();
    input.reporting = reports_.due(result.step);
    run(input);
    result.rows = input.rows;
    if (Request::scales_loss) {
      result.skipped = first_executor().skipped();
      result.scale = input.loss_scale;
      loss_scale_.update(result.skipped);
    }
    if (!result.skipped) steps_ = result.step;
    if (Request::clips && !result.skipped) result.norm = first_executor().norm();
    if (input.reporting) {
      result.loss = shared_loss_sum() / static_cast<float>(input.rows);
      reports_.tell(result);
    }
    return result;
  }
  template <class Other> StepResult step(const Examples<Other>&) {
    static_assert(sizeof(fired<OfSound<Asked, WrongTargets<typename Request::Loss, Other>>>) > 0);
    return {};
  }

  /// Loss and outputs without a step, for any number of rows.
  [[nodiscard]] Evaluation evaluate(const Examples<Target>& examples) {
    const auto turn = begin("evaluate()");
    Evaluation all;
    const std::int64_t features = Request::graph.output().elements();
    all.rows = examples.rows;
    all.outputs.resize(static_cast<std::size_t>(examples.rows * features));
    all.loss = evaluate_rows(examples, all.outputs.data(), true);
    if (all.rows > 0) all.loss /= static_cast<double>(all.rows);
    return all;
  }
  template <class Other> [[nodiscard]] Evaluation evaluate(const Examples<Other>&) {
    static_assert(sizeof(fired<OfSound<Asked, WrongTargets<typename Request::Loss, Other>>>) > 0);
    return {};
  }

  /// Outputs (rows, output features) for inputs without targets, in the order of the rows.
  [[nodiscard]] std::vector<float> predict(std::span<const float> inputs) {
    const auto turn = begin("predict()");
    const std::int64_t features = Request::graph.input.elements();
    const std::int64_t outputs = Request::graph.output().elements();
    const std::int64_t rows = whole_rows(std::ssize(inputs), features);
    std::vector<float> all(static_cast<std::size_t>(rows * outputs));
    evaluate_rows({inputs.data(), nullptr, rows, features, Request::target_features, nullptr}, all.data(), false);
    return all;
  }

  // ---- tensors by their state_dict names
  [[nodiscard]] std::vector<std::string> parameter_names() const { return tensors_.names(); }
  [[nodiscard]] const Shape& parameter_shape(const std::string& name) const { return tensors_.shape(tensors_.find(name)); }
  /// The parameter as the first replica holds it, or as `replica` does.
  [[nodiscard]] std::vector<float> parameter(const std::string& name, int replica = 0) {
    return resting("parameter()").parameter(tensors_.find(name), replica);
  }
  /// The gradient of the last step, of the mean loss, summed over all ranks. It is as the optimizer was given it: unscaled under LossScaling, and
  /// after Clip<GlobalNorm> its values are the clipped ones.
  [[nodiscard]] std::vector<float> gradient(const std::string& name, int replica = 0) {
    return resting("gradient()").gradient(tensors_.find(name), replica);
  }
  /// Sets a parameter on every rank that holds it.
  void set_parameter(const std::string& name, std::span<const float> values) {
    const auto turn = turns_.take("set_parameter()");
    tensors_.write(tensors_.find(name), values);
  }
  /// FNV-1a over the bytes of all parameters in the order of the model: the same number for the same bits.
  [[nodiscard]] std::uint64_t parameter_hash(int replica = 0) { return resting("parameter_hash()").hash(replica); }
  [[nodiscard]] int replicas() const { return tensors_.replicas(); }
  /// True in one process only: the one that prints and writes files.
  [[nodiscard]] bool first_process() const { return session_.first_process(); }
  /// Whether the rank lives in this process; only then it has an executor here.
  [[nodiscard]] bool local(Rank rank) const { return executors_[static_cast<std::size_t>(rank.value)] != nullptr; }
  [[nodiscard]] RankExecutor& executor(Rank rank) { return *executors_[static_cast<std::size_t>(rank.value)]; }
  [[nodiscard]] Session& session() { return session_; }
  /// What each rank said when the last call failed; empty where nothing was thrown.
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

  static constexpr const Program& training_program() { return ThePlan::training; }

 private:
  static constexpr const Program& training = ThePlan::training;
  static constexpr const Program& evaluation = ThePlan::evaluation;
  /// Tensors may be read while no rank is at work.
  [[nodiscard]] NamedTensors<ThePlan, Session>& resting(const char* call) {
    turns_.refuse_at_work(call);
    return tensors_;
  }
  [[nodiscard]] static std::int64_t capacity_rows() { return Request::batch.batch; }
  /// Of a rank that lives in this process; all know the norm, and whether all skipped.
  [[nodiscard]] RankExecutor& first_executor() {
    return **std::find_if(executors_.begin(), executors_.end(), [](const auto& executor) { return executor != nullptr; });
  }
  [[nodiscard]] static Rank loss_rank() { return training.mesh.moved(Rank{0}, Axis::stage, training.loss_role()); }
  /// The sum over the rows of the last run, in every process.
  [[nodiscard]] float shared_loss_sum() {
    float sum = local(loss_rank()) ? executor(loss_rank()).loss_sum() : 0;
    spoiled_ = true;  // a rank that is lost here has ended the plan as well
    session_.share(loss_rank(), std::as_writable_bytes(std::span{&sum, 1}));
    spoiled_ = false;
    return sum;
  }
  void check_options() const {
    if (const Diagnosis wrong = Optimizer::check(options_); !wrong.ok()) throw Error(wrong);
    clip_.check();
    loss_scale_.check();
  }
  [[nodiscard]] StepInput input_of(const Examples<Target>& batch, const Program& program) const {
    const std::int64_t features = Request::graph.input.elements();
    refuse_other_shape(Request::graph.model.view(), batch.input_features, batch.target_features, features, Request::target_features);
    refuse_other_rows(program, batch.rows);
    return StepInput{&program, batch.inputs, batch.targets, batch.order, batch.rows, batch.rows, 0, false, nullptr, nullptr, observer_.load()};
  }

  /// Forwards of all rows, a capacity at a time; the sum of their losses if asked for.
  double evaluate_rows(const Examples<Target>& examples, float* outputs, bool with_loss) {
    const std::int64_t grain = evaluation.batch.grain_rows;
    const std::int64_t whole = (capacity_rows() + grain - 1) / grain * grain;  // the same pieces of whole grains under every layout
    const std::int64_t most = std::min<std::int64_t>(evaluation.batch.capacity(), whole);
    refuse_other_tokens(Request::graph, examples);
    double sum = 0;
    for (std::int64_t first = 0; first < examples.rows; first += most) {
      StepInput input = input_of(examples.slice(first, std::min(most, examples.rows - first)), evaluation);
      input.reporting = with_loss;
      input.step = steps_;
      input.outputs = outputs + first * Request::graph.output().elements();
      run(input);
      share_outputs(session_, input, Request::graph.output().shape, [&](int replica) { return tensors_.rank_of(evaluation.loss_role(), replica); });
      if (with_loss) sum += static_cast<double>(shared_loss_sum());
    }
    return sum;
  }
  template <class Job> void on_every_rank(Job job) {
    session_.run([&](int rank) {
      try {
        job(rank);
      } catch (...) {
        session_.give_up(Rank{rank}, words_of(std::current_exception()));
        throw;
      }
    });
  }
  void run(const StepInput& input) {
    failures_.clear();
    const auto work = turns_.work();
    on_every_rank([&](int rank) { executor(Rank{rank}).run(input); });
    if (session_.failed()) explain(input);
  }
  /// Turns what the ranks threw into one error; parameters stay usable if no rank had begun its step.
  [[noreturn]] void explain(const StepInput& input) {
    for (auto& executor : executors_) spoiled_ = spoiled_ || (executor != nullptr && executor->stepped());
    if (!session_.reset()) spoiled_ = true;
    for (int rank = 0; rank < devices<ThePlan>; ++rank) failures_.push_back(words_of(session_.error(rank)));
    const auto position = [&](int rank) { return describe(*input.program, executor(Rank{rank}).instruction()); };
    rethrow_cause(session_, devices<ThePlan>, input, position, [&] { return locate(input); });
  }
  /// Where a loss that is not finite comes from: a forward of the whole batch, leaf by leaf, with the parameters as they are.
  [[nodiscard]] std::string locate(const StepInput& input) {
    for (int rank = 0; rank < devices<ThePlan>; ++rank)
      if (!local(Rank{rank})) return ". Fix: lower the learning rate or repair the data.";  // its process is not here to share its parameters
    return locate_non_finite(Request::graph, kernels_, input, tensors_.everything());
  }
  /// The turn of a call that runs ranks; they must agree.
  [[nodiscard]] CallTurns::Hold begin(const char* call) {
    if (spoiled_)
      throw Error(Code{'R', 4}, "step " + std::to_string(steps_ + 1) +
                                    " was interrupted after some ranks had changed their parameters, so they no longer agree. "
                                    "Fix: make a new trainer and load the parameters of the last good step.");
    return turns_.take(call);
  }
  Options options_;
  ClipOptions clip_;
  LossScale loss_scale_;
  KernelTable kernels_;
  Session session_;
  std::vector<std::unique_ptr<RankExecutor>> executors_;  // by rank; null where the rank lives in another process
  NamedTensors<ThePlan, Session> tensors_;
  Reports reports_;
  CallTurns turns_;
  std::atomic<Observer*> observer_ = nullptr;
  std::int64_t steps_ = 0;
  bool spoiled_ = false;
  std::vector<std::string> failures_;
};

}  // namespace heddle::inline run_room
