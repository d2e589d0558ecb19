// SPDX-License-Identifier: MIT
// What any plan must keep while it trains: its bits after each step, the bytes that it states, the memory that it states.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "equivalence/sent_by_axis.hpp"
#include "heddle/plan/check/check.hpp"

namespace equivalence {

using Tensors = std::vector<std::vector<float>>;
[[nodiscard]] inline bool same_tensors(const Tensors& a, const Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return equal_bits(x, y); });
}

/// After each of four steps: what every replica holds.
struct Trained {
  std::vector<std::vector<Tensors>> parameters, gradients;  // by step, replica
  std::vector<float> losses;
  std::vector<std::int64_t> rows;
  Evaluation of_a_batch, of_many;
  std::int64_t evaluated_at_once = 0;  // rows
  std::int64_t not_finite_in = 0;      // step whose loss was no number, which ends the training; 0: every loss was
};

/// Steps of a full batch, a part of one, one row and a full batch again; then rows that need several evaluations.
template <class Optimizer, class Target, class Input>
[[nodiscard]] Trained trained(CallsOnThreads<Optimizer, Target, Input>& trainer, const Rows<Target, Input>& rows, const Program& training,
                              const Program& evaluation, int batch, int partial, bool may_diverge = false) {
  const int ranks = training.mesh.ranks();
  Trained out;
  trainer.on_step([&](const StepResult& result) { out.losses.push_back(result.loss.value()); });
  for (const int count : {batch, partial, 1, batch}) {
    CAPTURE(count);
    trainer.session().transport().clear_traffic();
    try {
      out.rows.push_back(trainer.step(rows.batch(7 * std::ssize(out.rows), count)).rows);
    } catch (const NonFinite& error) {
      if (!may_diverge) throw;
      out.not_finite_in = error.step();
      return out;
    }
    for (int r = 0; r < ranks; ++r) check_sent(training, trainer.session().transport(), Rank{r}, true);
    out.parameters.emplace_back();
    out.gradients.emplace_back();
    for (int replica = 0; replica < trainer.replicas(); ++replica) {
      out.parameters.back().push_back(parameters_of(trainer, replica));
      out.gradients.back().emplace_back();
      for (const std::string& name : trainer.parameter_names()) out.gradients.back().back().push_back(gradient_of(trainer, name, replica));
    }
  }
  out.of_a_batch = trainer.evaluate(rows.batch(2, batch));
  out.of_many = trainer.evaluate(rows.batch(0, 3 * batch + 5));
  out.evaluated_at_once = evaluation.batch.capacity();
  check_statement(training);
  for (int r = 0; r < ranks; ++r) check_arena(training, Rank{r}, trainer.executor(Rank{r}).arena());
  CHECK(check(training).ok());
  CHECK(check(evaluation, Lanes::one_per_device).ok());
  return out;
}
template <class ThePlan, bool may_diverge = false> [[nodiscard]] Trained train_and_check(int batch, int partial) {
  const auto rows = rows_of<ThePlan>(3 * batch + 5);
  Trainer<ThePlan, CpuThreads> trainer{settings<typename ThePlan::Request::Optimizer>(), Seed{11}};
  check_peak(lower<ThePlan>(), peak_memory<ThePlan>());
  return trained(trainer, rows, ThePlan::training, ThePlan::evaluation, batch, partial, may_diverge);
}
/// The same of a plan that is data.
template <class OfPlan> [[nodiscard]] Trained train_and_check_data(const PlanAsData& plan, int batch, int partial) {
  CAPTURE(plan.training().mesh.ranks());
  const Rows<typename OfPlan::Loss::Target, typename DataTrainer<OfPlan>::Input> rows{3 * batch + 5, plan.graph().input.elements(),
                                                                                      plan.graph().output().elements()};
  DataTrainer<OfPlan> trainer{plan, settings<typename OfPlan::Optimizer>(), Seed{11}};
  return trained(trainer, rows, plan.training(), plan.evaluation(), batch, partial);
}

/// Two runs have the same bits: `wanted` of one replica, each replica of `got`.
inline void check_same_training(const Trained& got, const Trained& wanted) {
  CHECK(equal_bits(got.losses, wanted.losses));
  CHECK(got.not_finite_in == wanted.not_finite_in);
  CHECK(got.rows == wanted.rows);
  REQUIRE(got.parameters.size() == wanted.parameters.size());
  for (std::size_t step = 0; step < wanted.parameters.size(); ++step) {
    CAPTURE(step);
    REQUIRE(wanted.parameters[step].size() == 1);
    REQUIRE(got.parameters[step].size() == got.parameters[0].size());
    for (std::size_t replica = 0; replica < got.parameters[step].size(); ++replica) {
      CAPTURE(replica);
      CHECK(same_tensors(got.gradients[step][replica], wanted.gradients[step][0]));
      CHECK(same_tensors(got.parameters[step][replica], wanted.parameters[step][0]));
    }
  }
  CHECK(equal_bits(got.of_a_batch.outputs, wanted.of_a_batch.outputs));
  CHECK(equal_bits(std::vector{got.of_a_batch.loss}, std::vector{wanted.of_a_batch.loss}));
  CHECK(equal_bits(got.of_many.outputs, wanted.of_many.outputs));
  if (got.evaluated_at_once == wanted.evaluated_at_once) {
    CHECK(equal_bits(std::vector{got.of_many.loss}, std::vector{wanted.of_many.loss}));
  } else {
    // The same grains in pieces of other sizes: a float sum of n terms of one sign is within n 2^-24 of the exact one in any order.
    const double bound = 2 * static_cast<double>(wanted.of_many.rows) * 0x1p-24 * wanted.of_many.loss;
    CHECK(std::fabs(got.of_many.loss - wanted.of_many.loss) <= bound);
  }
}

/// Where sums are not those of one device: two plans of the same sums have the same bits all the same.
template <class ThePlan, class Other> void trains_alike() {
  static_assert(devices<ThePlan> == devices<Other>);
  const Run got = train<ThePlan>(&whole_batch<ThePlan>);
  const Run wanted = train<Other>(&whole_batch<ThePlan>);
  CHECK(equal_bits(got.losses, wanted.losses));
  CHECK(same_tensors(got.gradients, wanted.gradients));
  for (std::size_t replica = 0; replica < wanted.parameters.size(); ++replica)
    CHECK(same_tensors(got.parameters[replica], wanted.parameters[replica]));
  CHECK(equal_bits(got.evaluation.outputs, wanted.evaluation.outputs));
  CHECK_FALSE(same_tensors(got.before, got.parameters[0]));
}

}  // namespace equivalence
