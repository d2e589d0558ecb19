// SPDX-License-Identifier: MIT
// Trains a plan that is given as its Programs: nothing below is a template on plans, so hundreds of them cost what their lowering costs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "equivalence/training_properties.hpp"
#include "heddle/plan/lowered.hpp"

namespace equivalence {

/// A plan without its type.
struct AnyPlan {
  const Program* training = nullptr;
  const Program* evaluation = nullptr;
};
template <class ThePlan> [[nodiscard]] constexpr AnyPlan any_plan() { return {&ThePlan::training, &ThePlan::evaluation}; }
/// It looks at the Programs of `lowered`, which owns them.
[[nodiscard]] inline AnyPlan any_plan(const LoweredPlan& lowered) { return {&lowered.training(), &lowered.evaluation()}; }

/// What plans of one model, loss and optimizer share.
struct Work {
  const Graph* graph = nullptr;
  KernelTable kernels;
  std::function<StepInput(std::int64_t first, std::int64_t count)> rows;
  std::function<const void*(std::int64_t step)> constants;
  double max_norm = 0;
};

/// Rows, kernels and constants; they live as long as the program.
template <class Model, class Loss, class Optimizer> [[nodiscard]] Work work_of(std::int64_t rows, double max_norm) {
  static constexpr Graph graph = graph_of<Model>;
  static const Rows<typename Loss::Target> all{rows, graph.input.elements(), graph.output().elements()};
  static typename Optimizer::Constants constants;
  Work work;
  work.graph = &graph;
  work.kernels = kernel_table<Model, Loss, Optimizer, EigenCompute>();
  work.rows = [](std::int64_t first, std::int64_t count) {
    const auto batch = all.batch(first, count);
    StepInput input;
    input.inputs = batch.inputs;
    input.targets = batch.targets;
    input.source_rows = input.rows = count;
    input.reporting = true;
    return input;
  };
  work.constants = [](std::int64_t step) -> const void* {
    constants = Optimizer::constants(settings<Optimizer>(), step);
    return &constants;
  };
  work.max_norm = max_norm;
  return work;
}

/// The ranks of one plan as threads, and what they hold.
class AnyTrainer {
 public:
  AnyTrainer(AnyPlan plan, const Work& work)
      : plan_(plan), work_(work), session_(transport_needs(*plan.training, *plan.evaluation), std::chrono::seconds{60}),
        executors_(static_cast<std::size_t>(plan.training->mesh.ranks())) {
    session_.run([&](int rank) {
      executors_[static_cast<std::size_t>(rank)] =
          std::make_unique<RankExecutor>(*plan_.training, *plan_.evaluation, work_.kernels, Rank{rank}, session_.endpoint(Rank{rank}));
    });
    session_.rethrow_first();
    initialize_all();
  }

  /// One step; the loss of its rows is then loss().
  void step(std::int64_t first, std::int64_t count) {
    StepInput input = work_.rows(first, count);
    input.program = plan_.training;
    input.step = ++steps_;
    input.constants = work_.constants(input.step);
    input.max_norm = work_.max_norm;
    run(input);
  }
  [[nodiscard]] std::vector<float> outputs(std::int64_t first, std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count * work_.graph->output().elements()));
    StepInput input = work_.rows(first, count);
    input.program = plan_.evaluation;
    input.outputs = out.data();
    run(input);
    return out;
  }
  [[nodiscard]] float loss() { return executor(plan_.training->mesh.moved(Rank{0}, Axis::stage, plan_.training->loss_role())).loss_sum(); }
  [[nodiscard]] float norm(Rank rank) { return executor(rank).norm(); }
  [[nodiscard]] int replicas() const { return plan_.training->batch.ranks; }
  [[nodiscard]] Tensors parameters(int replica) { return all(replica, &RankExecutor::held_parameter, plan_.training->storage.parameters); }
  [[nodiscard]] Tensors gradients(int replica) { return all(replica, &RankExecutor::held_gradient, plan_.training->storage.states); }
  [[nodiscard]] Threads& transport() { return session_.transport(); }
  [[nodiscard]] const Arena& arena(Rank rank) { return executor(rank).arena(); }

 private:
  using RankExecutor = Executor<Threads::Endpoint>;

  [[nodiscard]] RankExecutor& executor(Rank rank) { return *executors_[static_cast<std::size_t>(rank.value)]; }
  void run(const StepInput& input) {
    session_.run([&](int rank) {
      try {
        executor(Rank{rank}).run(input);
      } catch (const std::exception& thrown) {
        session_.give_up(Rank{rank}, thrown.what());
        throw;
      }
    });
    session_.rethrow_first();
  }
  void initialize_all() {
    for (int p = 0; p < work_.graph->parameter_count; ++p) {
      const ParameterPlace& place = plan_.training->parameters[p];
      std::vector<float> values(static_cast<std::size_t>(place.elements));
      initialize(work_.graph->leaf(place.node).parameters[place.index], Seed{11}, p, values.data());
      for (auto& executor : executors_) {
        if (executor->role() != place.role) continue;
        const HeldPart part = executor->held_parameter(p);
        std::copy_n(values.data() + part.begin, part.elements, part.values);
      }
    }
  }
  /// As one replica holds them: whole, or put together from the slices of its ranks.
  template <class Held> [[nodiscard]] Tensors all(int replica, Held held, bool sliced) {
    const Program& program = *plan_.training;
    Tensors tensors;
    for (int p = 0; p < work_.graph->parameter_count; ++p) {
      const ParameterPlace& place = program.parameters[p];
      int rank = 0;
      while (program.mesh.coordinate(Rank{rank}, Axis::stage) != place.role || batch_position(program, Rank{rank}) != replica) ++rank;
      std::vector<float> values(static_cast<std::size_t>(place.elements));
      for (int slice = 0; slice < (sliced ? program.storage.parts : 1); ++slice) {
        const HeldPart part = (executor(sliced ? slice_holder(program, Rank{rank}, slice) : Rank{rank}).*held)(p);
        std::copy_n(part.values, part.elements, values.data() + part.begin);
      }
      tensors.push_back(std::move(values));
    }
    return tensors;
  }

  AnyPlan plan_;
  const Work& work_;
  ThreadSession session_;
  std::vector<std::unique_ptr<RankExecutor>> executors_;  // by rank
  std::int64_t steps_ = 0;
};

/// After each of four steps what the first and the last replica hold; bytes and memory are checked on the way.
struct AnyRun {
  std::vector<std::vector<Tensors>> held;  // by step: parameters, then gradients, of the first replica and the last
  std::vector<float> numbers;              // by step: the loss, and the norm of a plan that clips; then all outputs of an evaluation
};

[[nodiscard]] inline AnyRun train_any(AnyPlan plan, const Work& work, int batch, int partial) {
  AnyTrainer trainer{plan, work};
  AnyRun out;
  for (const int count : {batch, partial, 1, batch}) {
    trainer.transport().clear_traffic();
    trainer.step(7 * std::ssize(out.held), count);
    for (int r = 0; r < plan.training->mesh.ranks(); ++r) check_sent(*plan.training, trainer.transport(), Rank{r}, true);
    const int last = trainer.replicas() - 1;
    out.held.push_back({trainer.parameters(0), trainer.parameters(last), trainer.gradients(0), trainer.gradients(last)});
    out.numbers.push_back(trainer.loss());
    if (!plan.training->clips) continue;
    out.numbers.push_back(trainer.norm(Rank{0}));
    for (int r = 0; r < plan.training->mesh.ranks(); ++r) CHECK(trainer.norm(Rank{r}) == trainer.norm(Rank{0}));
  }
  const std::vector<float> outputs = trainer.outputs(2, batch);
  out.numbers.insert(out.numbers.end(), outputs.begin(), outputs.end());
  check_statement(*plan.training);
  for (int r = 0; r < plan.training->mesh.ranks(); ++r) check_arena(*plan.training, Rank{r}, trainer.arena(Rank{r}));
  return out;
}

/// Every bit of `got` is that of one device, whose first replica is its last.
inline void check_same_run(const AnyRun& got, const AnyRun& alone) {
  CHECK(equal_bits(got.numbers, alone.numbers));
  REQUIRE(got.held.size() == alone.held.size());
  for (std::size_t step = 0; step < got.held.size(); ++step)
    for (std::size_t k = 0; k < got.held[step].size(); ++k) {
      CAPTURE(step);
      CAPTURE(k);
      CHECK(same_tensors(got.held[step][k], alone.held[step][k]));
    }
}

}  // namespace equivalence
