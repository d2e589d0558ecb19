// SPDX-License-Identifier: MIT
// What every equivalence test does: the same rows in the same order under two plans, then every bit of what came out.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "equivalence/plan_as_data.hpp"
#include "heddle/backend/cpu_threads.hpp"

namespace equivalence {

using namespace heddle;

inline constexpr int steps = 20;

/// Bit for bit, so that -0 is not 0 and a NaN is itself.
template <class T> [[nodiscard]] bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// One array of inputs made from integers, of one of the element types.
struct MoreRows {
  std::int64_t features;
  std::vector<float> floats;
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> bytes;

  MoreRows(std::int64_t rows, const Graph& graph, int number) : features(graph.input_of(number).elements()) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < features; ++j) {
        const std::int64_t drawn = 41 * i + 67 * j + 13 * number + i * j;
        switch (graph.input_of(number).type) {
          case ElementType::bfloat16:
          case ElementType::float32: floats.push_back(static_cast<float>(drawn % 127) / 128.0F); break;
          case ElementType::int32: ids.push_back(static_cast<std::int32_t>(drawn % graph_room::vocabulary_of(graph, number))); break;
          case ElementType::uint8: bytes.push_back(static_cast<std::uint8_t>(drawn % 256)); break;
        }
      }
  }
  template <class Batch> [[nodiscard]] Batch with(const Batch& batch) const {
    return !floats.empty() ? batch.with_input(floats, features) : !ids.empty() ? batch.with_input(ids, features) : batch.with_input(bytes, features);
  }
};

/// Rows made from integers: inputs in [0, 1), bytes or token ids below 8, class numbers, one for each position, or targets in [-1, 1]. Of a graph
/// with several inputs all; of several losses the targets of each, every fourth of which is ignored if it may be.
template <class Target, class Input = float> struct Rows {
  std::int64_t features;
  std::int64_t outputs;
  std::int64_t labels;  // of a row
  std::vector<Input> inputs;
  std::vector<Target> targets;
  std::vector<MoreRows> more;

  Rows(std::int64_t rows, const Graph& graph, const graph_room::TargetRanges& ranges) : Rows(rows, graph) {
    if (!ranges.several()) return;
    targets.clear();
    labels = 0;
    for (int k = 0; k < ranges.count; ++k) labels = std::max(labels, ranges.all[k].first + ranges.all[k].features);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < labels; ++j) {
        const std::int64_t classes = ranges.reader_of(j).classes;
        if constexpr (!std::is_same_v<Target, float>)
          if (classes > 0)
            targets.push_back(i % 4 == 3 && ranges.leave_out(j, -100) ? -100 : static_cast<std::int32_t>((7 * i + 5 * j + 3) % classes));
        if constexpr (!std::is_same_v<Target, std::int32_t>)
          if (classes == 0) targets.push_back(static_cast<float>((53 * i + 29 * j + i * j) % 31 - 15) / 16.0F);
      }
  }
  Rows(std::int64_t rows, const Graph& graph)
      : Rows(rows, graph.input.elements(), std::is_same_v<Target, std::int32_t> ? graph.output().shape.last() : graph.output().elements(),
             graph.output().elements() / graph.output().shape.last()) {
    for (int k = 1; k < graph.input_count; ++k) more.emplace_back(rows, graph, k);
  }
  Rows(std::int64_t rows, std::int64_t input_features, std::int64_t output_features, std::int64_t labels_a_row = 1)
      : features(input_features), outputs(output_features), labels(labels_a_row) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < features; ++j) {
        const std::int64_t number = 37 * i + 101 * j + i * j;
        if constexpr (std::is_same_v<Input, std::uint8_t>)
          inputs.push_back(static_cast<std::uint8_t>(number % 256));
        else if constexpr (std::is_same_v<Input, std::int32_t>)
          inputs.push_back(static_cast<std::int32_t>(number % 8));
        else
          inputs.push_back(static_cast<float>(number % 127) / 128.0F);
      }
      if constexpr (std::is_same_v<Target, std::int32_t>)
        for (std::int64_t j = 0; j < labels; ++j) targets.push_back(static_cast<std::int32_t>((7 * i + 5 * j + 3) % outputs));
      else
        for (std::int64_t j = 0; j < outputs; ++j) targets.push_back(static_cast<float>((53 * i + 29 * j + i * j) % 31 - 15) / 16.0F);
    }
  }
  [[nodiscard]] Examples<Target, Input> batch(std::int64_t first, std::int64_t count) const {
    auto all = [&] {
      if constexpr (std::is_same_v<Target, std::int32_t>)
        return examples(std::span<const Input>{inputs}, std::span<const Target>{targets}, features, labels);
      else if constexpr (std::is_same_v<Target, TargetValue>)
        return Examples<Target, Input>{inputs.data(), targets.data(), std::ssize(targets) / labels, features, labels};
      else
        return examples(std::span<const Input>{inputs}, std::span<const Target>{targets}, features);
    }();
    for (const MoreRows& input : more) all = input.with(all);
    return all.slice(first, count);
  }
};

template <class Plan> using RowsOf = Rows<typename Plan::Request::Loss::Target, run_room::InputOf<typename Plan::Request>>;
template <class Plan> [[nodiscard]] RowsOf<Plan> rows_of(std::int64_t rows) {
  return {rows, Plan::Request::graph, graph_room::target_ranges_of<typename Plan::Request::Loss>(Plan::Request::graph.output())};
}

/// Rates at which 20 steps move the parameters far more than rounding does; every term of the update takes part.
template <class Optimizer> [[nodiscard]] typename Optimizer::Options settings() {
  typename Optimizer::Options o;
  if constexpr (std::is_same_v<Optimizer, SGD>) {
    o.learning_rate = 0.1;
    o.weight_decay = 0.01;
  } else if constexpr (std::is_same_v<Optimizer, MomentumSGD>) {
    o.learning_rate = 0.05;
    o.weight_decay = 0.01;
    o.nesterov = true;
  } else {
    o.learning_rate = 0.01;
    o.weight_decay = 0.02;
  }
  return o;
}

/// Rows of the batch of a step, from 0; the batch begins at another row each time.
using RowCount = std::int64_t (*)(int step);

/// Everything that a plan has to say after some steps.
struct Run {
  std::vector<std::vector<float>> before;                   // by parameter
  std::vector<std::vector<std::vector<float>>> parameters;  // by replica, parameter
  std::vector<std::vector<float>> gradients;                // of the last step, of replica 0
  std::vector<float> losses;                                // by step
  std::vector<std::int64_t> rows;                           // by step: those that counted
  Evaluation evaluation;                                    // of more rows than a batch has
};

template <class Optimizer, class Session, class Target, class Input>
[[nodiscard]] std::vector<std::vector<float>> parameters_of(TrainerCalls<Optimizer, Session, Target, Input>& trainer, int replica) {
  std::vector<std::vector<float>> all;
  for (const std::string& name : trainer.parameter_names()) all.push_back(trainer.parameter(name, replica));
  return all;
}

/// Nothing of a frozen parameter, which has none.
template <class Optimizer, class Session, class Target, class Input>
[[nodiscard]] std::vector<float> gradient_of(TrainerCalls<Optimizer, Session, Target, Input>& trainer, const std::string& name, int replica = 0) {
  try {
    return trainer.gradient(name, replica);
  } catch (const Error& error) {
    if (std::string{error.what()}.find("is frozen, so it has no gradient") == std::string::npos) throw;
    return {};
  }
}

/// Twenty steps of a new trainer, of batches of so many rows at most, and an evaluation.
template <class Optimizer, class Target, class Input>
[[nodiscard]] Run run_of(CallsOnThreads<Optimizer, Target, Input>& trainer, const Rows<Target, Input>& rows, std::int64_t batch, RowCount count) {
  Run out;
  out.before = parameters_of(trainer, 0);
  trainer.on_step([&](const StepResult& result) { out.losses.push_back(result.loss.value()); });
  for (int step = 0; step < steps; ++step) out.rows.push_back(trainer.step(rows.batch(3 * step % (batch + 7), count(step))).rows);
  for (int replica = 0; replica < trainer.replicas(); ++replica) out.parameters.push_back(parameters_of(trainer, replica));
  for (const std::string& name : trainer.parameter_names()) out.gradients.push_back(gradient_of(trainer, name));
  out.evaluation = trainer.evaluate(rows.batch(0, 2 * batch + 7));
  return out;
}
template <class Plan> [[nodiscard]] Run train(RowCount count) {
  constexpr std::int64_t batch = Plan::Request::batch.batch;
  const auto rows = rows_of<Plan>(2 * batch + 7);
  Trainer<Plan, CpuThreads> trainer{settings<typename Plan::Request::Optimizer>(), Seed{5}};
  return run_of(trainer, rows, batch, count);
}
/// The same of a plan that is data.
template <class OfPlan> [[nodiscard]] Run train_data(const PlanAsData& plan, RowCount count) {
  const std::int64_t batch = plan.training().batch.batch;
  const Rows<typename OfPlan::Loss::Target, typename DataTrainer<OfPlan>::Input> rows{
      2 * batch + 7, plan.graph(), graph_room::target_ranges_of<typename OfPlan::Loss>(plan.graph().output())};
  DataTrainer<OfPlan> trainer{plan, settings<typename OfPlan::Optimizer>(), Seed{5}};
  return run_of(trainer, rows, batch, count);
}

/// A run is worth comparing with only if it trained all that is not frozen.
inline void check_trained(const Run& made) {
  REQUIRE(!made.losses.empty());
  for ([[maybe_unused]] const float loss : made.losses) REQUIRE(std::isfinite(loss));
  REQUIRE(made.parameters.size() == 1);
  for (std::size_t p = 0; p < made.before.size(); ++p) REQUIRE(equal_bits(made.before[p], made.parameters[0][p]) == made.gradients[p].empty());
}

/// The run of the reference, made once.
template <class Reference> [[nodiscard]] const Run& reference(RowCount count) {
  static const RowCount counted = count;
  static const Run made = train<Reference>(count);
  [[maybe_unused]] const bool made_with_these_rows = counted == count;
  REQUIRE(made_with_these_rows);
  check_trained(made);
  return made;
}

template <class Plan> constexpr std::int64_t whole_batch(int) { return Plan::Request::batch.batch; }

/// Parameters of all replicas, gradients, losses, counted rows and an evaluation are those of one device, to the last bit.
inline void check_same_run(const Run& got, const Run& wanted, [[maybe_unused]] int ranks) {
  CHECK(equal_bits(got.losses, wanted.losses));
  CHECK(got.rows == wanted.rows);
  REQUIRE(static_cast<int>(got.parameters.size()) == ranks);
  for (std::size_t p = 0; p < wanted.before.size(); ++p) {
    CAPTURE(p);
    CHECK(equal_bits(got.before[p], wanted.before[p]));
    CHECK(equal_bits(got.gradients[p], wanted.gradients[p]));
    for (std::size_t replica = 0; replica < got.parameters.size(); ++replica) {
      CAPTURE(replica);
      CHECK(equal_bits(got.parameters[replica][p], wanted.parameters[0][p]));
    }
  }
  CHECK(std::memcmp(&got.evaluation.loss, &wanted.evaluation.loss, sizeof(double)) == 0);
  CHECK(equal_bits(got.evaluation.outputs, wanted.evaluation.outputs));
}
template <class OfPlan> void check_data(const PlanAsData& plan, std::string (*other_bits)(const PlanAsData&), const Run& wanted, RowCount count) {
  CAPTURE(plan.training().mesh.ranks());
  CHECK(other_bits(plan) == "");
  check_same_run(train_data<OfPlan>(plan, count), wanted, plan.training().batch.ranks);
}
template <class Plan, class Reference> void check_same_bits(RowCount count = &whole_batch<Reference>) {
  static_assert(heddle::same_bits<Plan, Reference>());
  static_assert(devices<Reference> == 1);
  CAPTURE(devices<Plan>);
  check_same_run(train<Plan>(count), reference<Reference>(count), Plan::training.batch.ranks);
}
/// The same of a plan that the test lowers while it runs.
template <class Plan, class Reference> void check_same_bits_as_data(RowCount count = &whole_batch<Reference>) {
  static_assert(same_types<Plan, Reference> && devices<Reference> == 1);
  check_data<TypesOf<Plan>>(as_data<Plan>(), &other_bits<Reference>, reference<Reference>(count), count);
}

// ---- models. Sizes are no multiples of a cache line, so padding is everywhere.

struct Mlp : Sequential<Named<"linear1", Linear<23, 17>>, ReLU, Named<"linear2", Linear<17, 10>>> {};

struct Block : Residual<Linear<16, 19>, GELU, Linear<19, 16, NoBias>, Tanh> {};
struct Blocks : Sequential<Linear<23, 16>, Named<"blocks", Repeat<4, Block>>, Sigmoid, Linear<16, 10>> {};

struct Image : Sequential<Input<4, 6>, Flatten, Linear<24, 15>, Unflatten<3, 5>, Tanh, Linear<5, 4>, Flatten, Linear<12, 7>> {};

}  // namespace equivalence
