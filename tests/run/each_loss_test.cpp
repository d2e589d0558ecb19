// SPDX-License-Identifier: MIT
#include "heddle/run/each_loss.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using run_room::kernel_table, run_room::tell_each_loss;

namespace {

using Several = Losses<LossOf<"a", Outputs<2>, CrossEntropyWith<Ignored<-1>>>, LossOf<"b", Outputs<1>, MeanSquaredError, LossWeight<1, 2>>>;
struct Model : Sequential<Linear<4, 3>> {};

}  // namespace

TEST_CASE("means are of the rows in the order of the batch, without weights") {
  const auto kernels = kernel_table<Model, Several, SGD, EigenCompute>();
  const std::vector<TargetValue> targets{-1, 8.0F, 1, 2.0F, 0, 4.0F};
  const std::vector<std::uint32_t> order{2, 1, 0};
  const Examples<TargetValue> batch{nullptr, targets.data(), 3, 4, 2, order.data()};
  Evaluation evaluation;
  evaluation.outputs = {0, 0, 5, 0, 0, 1, 3, 3, 8};  // of source rows 2, 1, 0
  StepInput counted;
  counted.counted[0].left_out = 1;
  tell_each_loss(evaluation, kernels, Shape{3}, batch, counted);
  REQUIRE(evaluation.losses.size() == 2);
  CHECK(std::abs(evaluation.losses[0] - std::log(2.0)) < 1e-6);
  CHECK(std::abs(evaluation.losses[1] - (1.0 + 1.0 + 0.0) / 3) < 1e-6);
  CHECK(evaluation.counted_of_losses == std::vector<double>{2, 3});
}

TEST_CASE("of one loss there are none") {
  const auto kernels = kernel_table<Model, MeanSquaredError, SGD, EigenCompute>();
  const std::vector<float> targets{1, 2, 3};
  Evaluation evaluation;
  evaluation.outputs = targets;
  tell_each_loss(evaluation, kernels, Shape{3}, Examples<float>{nullptr, targets.data(), 1, 4, 3}, StepInput{});
  CHECK(evaluation.losses.empty());
}
