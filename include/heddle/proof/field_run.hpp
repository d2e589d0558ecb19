// SPDX-License-Identifier: MIT
// Room: proof. One draw of one plan: some steps, an evaluation and a prediction in the field on the ranks of a session, and all that they end with.
// Sees: plan/program, run/local_ranks, compute/field.  Does not see: plans as types, any transport by name.
// In: Programs, what is trained, a draw.  Out: FieldOutcome.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/random.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/proof/field_input.hpp"
#include "heddle/proof/left_out.hpp"
#include "heddle/run/local_ranks.hpp"
#include "heddle/run/slices.hpp"
#include "heddle/run/token_ids.hpp"

namespace heddle::proof_room {

/// What is trained, whatever the plan. `whole_only` has a flag a traced leaf: layers that stand for any function, see compute/field/any_layer.hpp.
/// An output of 3 features has target_features 1 under CrossEntropy and 3 under MeanSquaredError.
struct FieldWork {
  const Graph* graph = nullptr;  ///< as users know it
  KernelTable kernels;
  std::vector<bool> whole_only;
  std::int64_t target_features = 0;
  std::shared_ptr<const void> (*constants)(std::int64_t step, const ParameterGroups& groups) = nullptr;  ///< of every group, the first at least
  std::size_t constants_bytes = 0;                                                                       ///< of one group
};

/// Among how many values labels and token ids are drawn, the fewer of both; 1: the model has neither, or they can be one value only.
[[nodiscard]] inline std::int64_t choices_of(const FieldWork& work) {
  const std::int64_t vocabulary = vocabulary_of(*work.graph);
  const std::int64_t classes = work.kernels.targets.fewest_classes();
  if (vocabulary <= 1 || classes <= 1) return std::max<std::int64_t>({vocabulary, classes, 1});
  return std::min(vocabulary, classes);
}

/// Both Programs of a plan.
struct ProgramPair {
  const Program* training = nullptr;
  const Program* evaluation = nullptr;
};

/// Steps of a proof, by the rows that are given to them. The second reports no loss. Batch<8, KeepLast> is proved in steps of 8, 5 and 8 rows.
struct FieldSteps {
  std::vector<std::int64_t> rows;
  std::int64_t evaluated = 1;  ///< rows of the evaluation, and of the prediction, at the end
  [[nodiscard]] static constexpr bool reports(std::size_t step) { return step != 1; }
};

/// One tensor after a step. Parameters and norms are there as every rank has them; what a rank does not have is taken from the first replica.
struct FieldTensor {
  std::string name;                        ///< "the gradient of 'linear1.weight' after step 2"
  std::vector<std::vector<float>> copies;  ///< one, or by rank
};
/// The tensors of one run of a proof, in the order in which they are compared.
struct FieldOutcome {
  std::vector<FieldTensor> tensors;
};

/// Where sums add modulo the prime: of any session, the same with these sums. Its jobs know that they are in a run.
template <class Session> class FieldSession : public Session {
 public:
  FieldSession(TransportNeeds needs, std::chrono::nanoseconds deadline) : Session((needs.add = &FieldCompute::add, needs), deadline) {}
  template <class Job> void run(Job&& job) {
    Session::run([&](int rank) {
      const InFieldRun here;
      job(rank);
    });
  }
};

/// The numbers of a draw: inputs, targets and parameters depend on the key alone, never on the plan. Each step has rows of its own, so one that uses
/// the row of another step is told. Row 0 of step 1 has other elements than row 0 of step 2. In a degree run every element has degree 1.
///
/// Tested  proof/field_run_test
class FieldNumbers : public FieldInput {
 public:
  FieldNumbers(const FieldWork& work, std::int64_t rows, std::uint64_t step) {
    const std::uint64_t inputs_stream = first_of_steps + 2 * step;
    const std::uint64_t targets_stream = inputs_stream + 1;
    draw(*work.graph, 0, rows, inputs_stream);
    for (int i = 1; i < work.graph->input_count; ++i)
      more[i - 1].draw(*work.graph, i, rows, more_inputs_stream + Graph::most_inputs * step + static_cast<std::uint64_t>(i));
    const bool labelled = work.kernels.targets.labels();
    for (std::int64_t i = 0; i < rows * work.target_features; ++i) {
      const std::int64_t column = i % work.target_features;
      const TargetRange reader = work.kernels.targets.reader_of(column);
      const std::int64_t number = i / work.target_features * reader.features + column - reader.first;  // among those that it reads
      if (reader.classes > 0)
        labels.push_back(or_left_out([&](std::int32_t target) { return work.kernels.targets.leave_out(column, target); }, number,
                                     field_below(targets_stream, i, reader.classes)));
      else if (labelled)
        labels.push_back(TargetValue{field_element(targets_stream, i)}.label());
      else
        targets.push_back(field_element(targets_stream, i));
    }
  }
  [[nodiscard]] const void* all_targets() const { return labels.empty() ? static_cast<const void*>(targets.data()) : labels.data(); }
  /// Element i of parameter p of the model.
  [[nodiscard]] static float parameter(int p, std::int64_t i) { return field_element(static_cast<std::uint64_t>(p), i); }

  std::vector<float> targets;
  std::vector<std::int32_t> labels;         ///< if there are some, all targets, as they lie
  FieldInput more[Graph::most_inputs - 1];  ///< of a model of several inputs: all but the first

 private:
  static constexpr std::uint64_t first_of_steps = 1ULL << 40;  // before it the streams of parameters
  static constexpr std::uint64_t more_inputs_stream = 1ULL << 50;
};

/// What is compared between processes that prove: with other numbers they would compare different draws.
/// prove with Seed{7} and most_draws 3 pledges {7, 3}.
struct ProofPledge {
  std::uint64_t seed = 0;
  std::int64_t most_draws = 1;
};
[[nodiscard]] inline TransportNeeds needs_of_proof(ProgramPair plan, ProofPledge pledge) {
  TransportNeeds needs = transport_needs(*plan.training, *plan.evaluation);
  needs.seed = pledge.seed;
  needs.most_draws = pledge.most_draws;
  return needs;
}

/// R32: a rank runs a part of a layer whose law nobody has stated.
inline void refuse_split_layers(const FieldWork& work, const Program& program) {
  for (int n = 0; n < program.graph->node_count; ++n) {
    if (!work.whole_only[static_cast<std::size_t>(program.graph->nodes[n].leaf)] || program.graph->signature(n) == Signature{}) continue;
    const std::string name{program.graph->leaf(n).kind.view()};
    throw Error(Code{'R', 32}, std::string{work.graph->describe(n).view()} + " is split, but in exact arithmetic nothing says how parts of " + name +
                                   " combine. Fix: specialise heddle::FieldKernel<" + name +
                                   "> with forward(ForwardCall) and backward(BackwardCall), or leave the layer whole.");
  }
}

/// The ranks of one plan in the field. Each outcome has new ranks, with the numbers of the draw that is set, on the transport of those before: who is
/// lost between two draws is named by the others.
///
/// Errors  what the executor and the transport throw; R18 processes with other pledges; R32
/// Tested  proof/field_run_test, proof/prove_test
template <class Session> class FieldRun {
 public:
  FieldRun(const FieldWork& work, ProgramPair plan, std::chrono::nanoseconds deadline, ProofPledge pledge = {})
      : work_(work), plan_(plan),
        ranks_(*plan.training, *plan.evaluation, *work.graph, work.target_features, work.kernels, needs_of_proof(plan, pledge), deadline) {
    refuse_split_layers(work, *plan.training);
  }

  [[nodiscard]] FieldOutcome outcome(const FieldSteps& steps) {
    FieldOutcome all;
    make_ranks();
    for (std::size_t s = 0; s < steps.rows.size(); ++s) {
      const std::string after = " after step " + std::to_string(s + 1);
      take_step(s, steps.rows[s], after, all);
      for (const std::string& name : ranks_.tensors().names()) {
        const int p = ranks_.tensors().find(name);
        if (!work_.graph->frozen(plan_.training->parameters[p].node))
          all.tensors.push_back({"the gradient of '" + name + "'" + after, {tensors()->gradient(p, 0)}});
        all.tensors.push_back({"parameter '" + name + "'" + after, copies_of(p)});
      }
    }
    evaluate(steps.evaluated, true, all);
    evaluate(steps.evaluated, false, all);
    return all;
  }
  /// What all ranks have called since the last time, in every process.
  [[nodiscard]] std::vector<FieldCall> calls() {
    std::vector<FieldCall> own = field_census.take();
    bool all_here = true;
    for (int r = 0; r < ranks_.ranks(); ++r) all_here = all_here && ranks_.local(Rank{r});
    if (all_here) return own;
    std::vector<FieldCall> all;
    for (int r = 0; r < ranks_.ranks(); ++r) {
      std::uint64_t count = ranks_.local(Rank{r}) ? own.size() : 0;
      ranks_.session().share(Rank{r}, std::as_writable_bytes(std::span{&count, 1}));
      std::vector<FieldCall> theirs = ranks_.local(Rank{r}) ? own : std::vector<FieldCall>(count);
      ranks_.session().share(Rank{r}, std::as_writable_bytes(std::span{theirs}));
      all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
  }
  [[nodiscard]] bool first_process() const { return ranks_.first_process(); }

 private:
  void make_ranks() {
    ranks_.make(Seed{1});
    ranks_.count(0);
    const auto agreed = [](const NamedTensors<Session>&) {};  // on the draw, when the session was made
    ranks_.change("prove()", agreed, [](NamedTensors<Session>& of_ranks) {
      for (const std::string& name : of_ranks.names()) {
        const int p = of_ranks.find(name);
        std::vector<float> values(static_cast<std::size_t>(of_ranks.shape(p).elements()));
        for (std::int64_t i = 0; i < std::ssize(values); ++i) values[static_cast<std::size_t>(i)] = FieldNumbers::parameter(p, i);
        of_ranks.write(p, values);
      }
    });
  }
  [[nodiscard]] auto tensors() { return ranks_.resting("prove()"); }
  /// Parameter p as every rank has it, and every use of it if it is tied.
  [[nodiscard]] std::vector<std::vector<float>> copies_of(int p) {
    const std::vector<float> whole = tensors()->parameter(p, 0);
    std::vector<std::vector<float>> copies;
    for (int r = 0; r < ranks_.ranks(); ++r) {
      copies.push_back(whole);
      if (ranks_.local(Rank{r}))
        for (int q = 0; q < work_.graph->parameter_count; ++q)
          if (tensors()->owner_of(q) == p && plan_.training->parameters[q].owner_begin < 0) read_copy(ranks_.executor(Rank{r}), q, copies.back());
      ranks_.session().share(Rank{r}, std::as_writable_bytes(std::span{copies.back()}));
    }
    return copies;
  }
  /// What a rank holds of parameter q, into its place in the whole.
  void read_copy(typename LocalRanks<Session>::RankExecutor& executor, int q, std::vector<float>& whole) {
    const Program& program = *plan_.training;
    const ParameterPlace& place = program.parameters[q];
    if (executor.role() != place.role) return;
    const HeldPart held = executor.held_parameter(q);
    each_run(tensors()->shape(q), place.split, program.mesh.size(Axis::tensor), program.mesh.coordinate(executor.rank(), Axis::tensor),
             [&](std::int64_t here, std::int64_t there, std::int64_t count) {
               const std::int64_t begin = std::max(here, held.begin);
               const std::int64_t end = std::min(here + count, held.begin + held.elements);
               if (begin < end) executor.device().download(whole.data() + (there + begin - here), held.values + (begin - held.begin), end - begin);
             });
  }
  /// Rows, the rate of learning, the largest norm and the loss scale are others in every step, as its functions are.
  void take_step(std::size_t s, std::int64_t rows, const std::string& after, FieldOutcome& all) {
    const FieldNumbers numbers(work_, rows, s + 1);
    StepInput input = input_of(numbers, *plan_.training, rows);
    input.step = static_cast<std::int64_t>(s) + 1;
    field_draw.step = s + 1;
    if (plan_.training->batch.remedy == Remedy::pad) input.rows = plan_.training->batch.batch;
    input.rows = std::min<std::int64_t>(input.rows, plan_.training->batch.capacity());
    input.reporting = FieldSteps::reports(s);
    const std::shared_ptr<const void> constants = work_.constants(input.step, plan_.training->groups);
    input.constants = constants.get();
    input.constants_bytes = work_.constants_bytes;
    input.max_norm = static_cast<double>(s + 1);
    input.max_value = static_cast<double>(s + 2);
    input.loss_scale = plan_.training->scales_loss ? std::ldexp(1.0F, 16 - static_cast<int>(s)) : 1;
    ranks_.run(input);
    ranks_.count(input.step);
    if (input.reporting) all.tensors.push_back({"the loss" + after, {{ranks_.shared_loss_sum()}}});
    if (!plan_.training->clips) return;
    FieldTensor norms{"the norm of the gradients" + after, {}};
    for (int r = 0; r < ranks_.ranks(); ++r) {
      float norm = ranks_.local(Rank{r}) ? ranks_.executor(Rank{r}).norm() : 0;
      ranks_.session().share(Rank{r}, std::as_writable_bytes(std::span{&norm, 1}));
      norms.copies.push_back({norm});
    }
    all.tensors.push_back(std::move(norms));
  }
  void evaluate(std::int64_t rows, bool reporting, FieldOutcome& all) {
    rows = std::min(rows, ranks_.rows_at_once());
    field_draw.step = static_cast<std::uint64_t>(ranks_.steps()) + (reporting ? 1 : 2);
    const FieldNumbers numbers(work_, rows, field_draw.step);
    std::vector<float> outputs(static_cast<std::size_t>(rows * work_.graph->output().elements()));
    StepInput input = input_of(numbers, *plan_.evaluation, rows);
    input.step = ranks_.steps();
    input.reporting = reporting;
    input.outputs = outputs.data();
    ranks_.run(input);
    share_outputs(ranks_.session(), input, work_.graph->output().shape,
                  [&](int replica) { return tensors()->rank_of(plan_.evaluation->loss_role(), replica); });
    all.tensors.push_back({reporting ? "the outputs of an evaluation" : "the outputs of a prediction", {outputs}});
    if (reporting) all.tensors.push_back({"the loss of an evaluation", {{ranks_.shared_loss_sum()}}});
  }
  [[nodiscard]] static StepInput input_of(const FieldNumbers& numbers, const Program& program, std::int64_t rows) {
    StepInput input;
    input.program = &program;
    input.inputs = numbers.all_inputs();
    for (int i = 0; i + 1 < Graph::most_inputs; ++i) input.more_inputs[i] = numbers.more[i].all_inputs();
    input.targets = numbers.all_targets();
    input.source_rows = input.rows = rows;
    return input;
  }

  const FieldWork& work_;
  ProgramPair plan_;
  LocalRanks<Session> ranks_;
};

}  // namespace heddle::proof_room
