// SPDX-License-Identifier: MIT
// Room: run. The functions of TrainedRanks: what a program compiles for its backend, or heddle::compiled for all programs.
// Sees: plan/read/program_hash, run/trained_ranks, run/local_ranks, run/parameter_file.  Does not see: plans as types, any backend by name.
// In: -.  Out: definitions alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/build_flags.hpp"
#include "heddle/run/local_ranks.hpp"
#include "heddle/run/parameter_file.hpp"
#include "heddle/run/token_ids.hpp"
#include "heddle/run/trained_ranks.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::run_room {

/// With what processes compare of the optimizer and of the seed.
/// Errors  R33, before anything of the program is used
template <class Kernels> [[nodiscard]] TransportNeeds needs_of(const PlanToTrain<Kernels>& plan, const OptimizerCalls& optimizer, Seed seed) {
  refuse_other_build();
  TransportNeeds needs = transport_needs(plan.training, plan.evaluation);
  needs.program = Fnv{}.add(needs.program, plan.kernels.functions).value();
  StepInput later;
  optimizer.prepare(optimizer.holder, 2, later);  // some options take no part in the first step
  needs.seed = seed.value;
  needs.options = later.options;
  needs.learning_rate = later.learning_rate;
  return needs;
}

template <class Session, class Target, class Input>
TrainedRanks<Session, Target, Input>::TrainedRanks(const PlanToTrain<KernelsOf<Session>>& plan, const OptimizerCalls& optimizer, Seed seed,
                                                   RunOptions how)
    : training_(plan.training), graph_(plan.whole), optimizer_(optimizer),
      ranks_(std::make_unique<LocalRanks<Session>>(plan.training, plan.evaluation, plan.whole, plan.target_features, plan.kernels,
                                                   needs_of(plan, optimizer, seed), how.deadline)) {}
template <class Session, class Target, class Input> TrainedRanks<Session, Target, Input>::~TrainedRanks() = default;
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::make(Seed seed) {
  check_options();
  ranks_->make(seed);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::check_options() const {
  optimizer_.check(optimizer_.holder);
  clip_.check();
  value_clip_.check();
  loss_scale_.check();
}

// ---- steps
template <class Session, class Target, class Input>
void TrainedRanks<Session, Target, Input>::on_step(std::function<void(const StepResult&)> callback, Every every) {
  const auto turn = ranks_->alone("on_step()");
  reports_.set(std::move(callback), every);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::observe(Observer* observer) {
  ranks_->observe(observer);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::weigh_classes(std::span<const float> weights) {
  const auto turn = ranks_->begin("class_weights()");
  Session& session = ranks_->session();
  in_every_process(session, ranks_->ranks(), [&] { refuse_class_weights(weights, ranks_->targets().weighed_classes()); });
  BitHash bits;
  bits.add(weights);
  if (live_apart(session, ranks_->ranks()))
    refuse_other_numbers(session, ranks_->ranks(), bits.value, [](int rank) {
      return Error(Code{'R', 28}, written({"rank ", rank,
                                           " calls class_weights() with other weights than rank 0, so their losses would not be one. "
                                           "Fix: give every process the same weights."}));
    });
  ranks_->weigh_classes(weights);
}
template <class Session, class Target, class Input> std::int64_t TrainedRanks<Session, Target, Input>::steps() const { return ranks_->steps(); }

template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::prepare(StepInput& input, std::int64_t step) {
  optimizer_.prepare(optimizer_.holder, step, input);
  input.step = step;
  input.max_norm = clip_.max_norm;
  input.max_value = value_clip_.max_value;
  input.loss_scale = loss_scale_.scale();
  input.reporting = reports_.due(step);
}
template <class Session, class Target, class Input>
void TrainedRanks<Session, Target, Input>::take_result(StepResult& result, const StepInput& input, double divided_by) {
  result.rows = input.rows;
  if (training_.scales_loss) {
    result.skipped = ranks_->any_local().skipped();
    result.scale = input.loss_scale;
    loss_scale_.update(result.skipped);
  }
  if (!result.skipped) ranks_->count(result.step);
  if (training_.clips && !result.skipped) result.norm = ranks_->any_local().norm();
  if (input.reporting) {
    result.loss = ranks_->shared_loss_sum() / static_cast<float>(divided_by);
    reports_.tell(result);
  }
}
template <class Session, class Target, class Input> StepResult TrainedRanks<Session, Target, Input>::step(const Examples<Target, Input>& batch) {
  const auto turn = ranks_->begin("step()");
  check_options();
  StepResult result = reports_.begun(ranks_->steps() + 1, training_.clips, training_.scales_loss);
  StepInput input = ranks_->input_of(batch, training_);
  refuse_other_tokens(graph_, batch);
  if (batch.rows < training_.batch.batch) {
    if (training_.batch.remedy == Remedy::drop) return StepResult{ranks_->steps()};
    if (training_.batch.remedy == Remedy::pad) input.rows = training_.batch.batch;
  }
  input.rows = std::min<std::int64_t>(input.rows, training_.batch.capacity());
  prepare(input, result.step);
  const double divided_by = ranks_->run(input);
  take_result(result, input, divided_by);
  return result;
}
template <class Session, class Target, class Input>
Evaluation TrainedRanks<Session, Target, Input>::evaluate(const Examples<Target, Input>& examples) {
  return ranks_->evaluate(examples);
}
template <class Session, class Target, class Input>
std::vector<float> TrainedRanks<Session, Target, Input>::predict(std::span<const Input> inputs, std::span<const FurtherRows> more) {
  return ranks_->template predict<Target, Input>(inputs, more);
}
template <class Session, class Target, class Input>
void TrainedRanks<Session, Target, Input>::count_right(Accuracy& counted, const Examples<Target, Input>& batch) {
  if constexpr (has_some_classes<Target>)
    for (const auto& piece : batch.batches(ranks_->rows_at_once())) counted.add(std::span<const float>{ranks_->outputs(piece)}, piece);
}

// ---- parameters
template <class Session, class Target, class Input> CallTurns::Turn TrainedRanks<Session, Target, Input>::begin(const char* call) {
  return ranks_->begin(call);
}
template <class Session, class Target, class Input> CallTurns::Turn TrainedRanks<Session, Target, Input>::reading(const char* call) {
  return ranks_->reading(call);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::save(const std::string& path) {
  save_parameters(*ranks_, path);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::load(const std::string& path) {
  load_parameter_file(*ranks_, graph_.model.view(), path);
}
template <class Session, class Target, class Input> void TrainedRanks<Session, Target, Input>::load(ParameterSource& source) {
  load_parameters(*ranks_, graph_.model.view(), source);
}
template <class Session, class Target, class Input> std::vector<std::string> TrainedRanks<Session, Target, Input>::parameter_names() const {
  return ranks_->tensors().names();
}
template <class Session, class Target, class Input>
const Shape& TrainedRanks<Session, Target, Input>::parameter_shape(const std::string& name) const {
  return ranks_->tensors().shape(ranks_->tensors().find(name));
}
template <class Session, class Target, class Input>
std::vector<float> TrainedRanks<Session, Target, Input>::parameter(const std::string& name, int replica) {
  return ranks_->resting("parameter()")->parameter(ranks_->tensors().find(name), replica);
}
template <class Session, class Target, class Input>
std::vector<float> TrainedRanks<Session, Target, Input>::gradient(const std::string& name, int replica) {
  return ranks_->resting("gradient()")->gradient(ranks_->tensors().find(name), replica);
}
template <class Session, class Target, class Input>
void TrainedRanks<Session, Target, Input>::set_parameter(const std::string& name, std::span<const float> values) {
  ranks_->write("set_parameter()", name, values);
}
template <class Session, class Target, class Input> std::uint64_t TrainedRanks<Session, Target, Input>::parameter_hash(int replica) {
  return ranks_->resting("parameter_hash()")->hash(replica);
}
template <class Session, class Target, class Input> int TrainedRanks<Session, Target, Input>::replicas() const {
  return ranks_->tensors().replicas();
}

// ---- ranks
template <class Session, class Target, class Input> bool TrainedRanks<Session, Target, Input>::first_process() const {
  return ranks_->first_process();
}
template <class Session, class Target, class Input> bool TrainedRanks<Session, Target, Input>::local(Rank rank) const { return ranks_->local(rank); }
template <class Session, class Target, class Input> auto TrainedRanks<Session, Target, Input>::executor(Rank rank) -> RankExecutor& {
  return ranks_->executor(rank);
}
template <class Session, class Target, class Input> Session& TrainedRanks<Session, Target, Input>::session() { return ranks_->session(); }
template <class Session, class Target, class Input> const std::vector<std::string>& TrainedRanks<Session, Target, Input>::failures() const {
  return ranks_->failures();
}
template <class Session, class Target, class Input> bool TrainedRanks<Session, Target, Input>::interrupted() const { return ranks_->interrupted(); }

}  // namespace heddle::run_room
