// SPDX-License-Identifier: MIT
// A few steps of a drawn plan, and an evaluation, in floats, on any session: what they leave behind.
#pragma once

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "equivalence/drawn_plans.hpp"
#include "heddle/backend/cpu.hpp"
#include "heddle/run/local_ranks.hpp"

namespace drawn_plans {

/// Kernels of a Compute for each model.
template <class Compute = EigenCompute> [[nodiscard]] const auto& kernels() {
  static const auto all = [] {
    std::vector<KernelTableIn<SpaceOf<Compute>>> made;
    each_model([&]<class Model, class Loss, class Optimizer>(const char*) {
      made.push_back(kernel_table<Model, Loss, Optimizer, Compute, true, EigenCompute>());
    });
    return made;
  }();
  return all;
}

/// Rows of one step, of any type of inputs and targets.
struct StepRows {
  std::vector<float> inputs, targets;
  std::vector<std::int32_t> ids, labels;

  StepRows(const FieldWork& work, std::int64_t rows, std::uint64_t step) {
    const auto drawn = [&](std::uint64_t what, std::int64_t i) { return bits64(Seed{5}, 2 * step + what, static_cast<std::uint64_t>(i)); };
    const auto unit = [](std::uint64_t bits) { return static_cast<float>(bits % 2001) / 1000.0F - 1; };
    for (std::int64_t i = 0; i < rows * work.graph->input.elements(); ++i) {
      if (work.graph->input.type == ElementType::int32)
        ids.push_back(static_cast<std::int32_t>(drawn(0, i) % static_cast<std::uint64_t>(vocabulary_of(*work.graph))));
      else
        inputs.push_back(unit(drawn(0, i)));
    }
    for (std::int64_t i = 0; i < rows * work.target_features; ++i) {
      const std::int64_t classes = work.kernels.targets.reader_of(i % work.target_features).classes;
      targets.push_back(unit(drawn(1, i)));
      labels.push_back(classes > 0 ? static_cast<std::int32_t>(drawn(1, i) % static_cast<std::uint64_t>(classes))
                                   : TargetValue{targets.back()}.label());
    }
  }
};

/// Everything that a few steps of a plan leave behind.
struct Left {
  std::vector<std::vector<char>> arenas;  // by rank
  std::vector<float> numbers;             // losses and outputs
  /// One parameter of one replica.
  struct Named {
    std::string name;
    std::vector<float> values, gradient;  // of the last step; none of what has none
  };
  std::vector<Named> parameters;
  [[nodiscard]] bool same(const Left& other) const {
    return arenas == other.arenas && numbers.size() == other.numbers.size() &&
           std::memcmp(numbers.data(), other.numbers.data(), numbers.size() * sizeof(float)) == 0;
  }
};

/// The ranks of a drawn plan, as threads or conducted: new ones for each run.
template <class Session> class Runs {
 public:
  using Kernels = KernelsOf<Session>;
  Runs(const DrawnPlan& plan, const std::vector<Kernels>& of_models, const Program& training, const Program& evaluation)
      : work_(plan.model->work), training_(training), evaluation_(evaluation),
        kernels_(of_models[static_cast<std::size_t>(plan.model - models().data())]),
        ranks_(training, evaluation, *work_.graph, work_.target_features, kernels_, transport_needs(training, evaluation), std::chrono::seconds{20}) {
  }

  /// A step of all rows that reports, one of fewer rows that does not if the plan takes them, and an evaluation.
  [[nodiscard]] Left run() {
    return run(0, [](Session&) {});
  }
  /// look(session) sees what these have left; then come so many more steps of the first kind.
  template <class Look> [[nodiscard]] Left run(int more, Look look) {
    Left left;
    ranks_.make(Seed{3});
    const int all = training_.batch.remedy == Remedy::pad ? training_.batch.capacity() : training_.batch.batch;
    step(1, all, true, left);
    step(2, training_.batch.remedy == Remedy::keep ? (all + 1) / 2 : all, false, left);
    evaluate(left);
    look(ranks_.session());
    for (int number = 3; number < 3 + more; ++number) step(number, all, true, left);
    for (int r = 0; r < ranks_.ranks(); ++r) {
      auto& executor = ranks_.executor(Rank{r});
      std::vector<char>& arena = left.arenas.emplace_back(static_cast<std::size_t>(executor.arena().size().value));
      executor.device().download(reinterpret_cast<float*>(arena.data()), executor.arena().floats(0, 0), std::ssize(arena) / 4);
    }
    const auto tensors = ranks_.resting("a test");
    for (const std::string& name : tensors->names())
      for (int replica = 0; replica < tensors->replicas(); ++replica) {
        const int p = tensors->find(name);
        left.parameters.push_back({name, tensors->parameter(p, replica), {}});
        if (!work_.graph->frozen(training_.parameters[p].node)) left.parameters.back().gradient = tensors->gradient(p, replica);
      }
    return left;
  }
  [[nodiscard]] Session& session() { return ranks_.session(); }

 private:
  [[nodiscard]] StepInput input_of(const Program& program, const StepRows& rows, int count) const {
    StepInput input;
    input.program = &program;
    input.inputs = rows.ids.empty() ? static_cast<const void*>(rows.inputs.data()) : rows.ids.data();
    input.targets = kernels_.targets.labels() ? static_cast<const void*>(rows.labels.data()) : rows.targets.data();
    input.source_rows = input.rows = count;
    return input;
  }
  void step(int number, int count, bool reporting, Left& left) {
    const StepRows rows{work_, count, static_cast<std::uint64_t>(number)};
    StepInput input = input_of(training_, rows, count);
    input.step = number;
    input.reporting = reporting;
    const auto constants = work_.constants(number, training_.groups);
    input.constants = constants.get();
    input.constants_bytes = work_.constants_bytes;
    input.max_norm = 0.5;
    input.max_value = 0.01;
    input.loss_scale = training_.scales_loss ? 1024.0F : 1.0F;
    ranks_.run(input);
    if (input.reporting) left.numbers.push_back(ranks_.shared_loss_sum());
  }
  void evaluate(Left& left) {
    const auto count = static_cast<int>(ranks_.rows_at_once());
    const StepRows rows{work_, count, 3};
    std::vector<float> outputs(static_cast<std::size_t>(count * work_.graph->output().elements()));
    StepInput input = input_of(evaluation_, rows, count);
    input.step = 2;
    input.reporting = true;
    input.outputs = outputs.data();
    ranks_.run(input);
    left.numbers.push_back(ranks_.shared_loss_sum());
    left.numbers.insert(left.numbers.end(), outputs.begin(), outputs.end());
  }

  const FieldWork& work_;
  const Program& training_;
  const Program& evaluation_;
  const Kernels& kernels_;
  LocalRanks<Session> ranks_;
};

}  // namespace drawn_plans
