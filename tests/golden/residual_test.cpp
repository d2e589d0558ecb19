// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<16, 16>>, Tanh> {};
struct ResidualMlp : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Named<"block", Inner>, Sigmoid, Named<"linear2", Linear<16, 10>>> {};
template <class Optimizer, class... Parts> using Of = Plan<ResidualMlp, MeanSquaredError, Optimizer, Batch<8>, Parts...>;

template <class Plan> void check(const std::string& name, const typename Plan::Request::Optimizer::Options& options) {
  const TensorFile file = golden_file(name);
  follow<Plan>(file, options, examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20);
}
template <class Optimizer> void check_plans(const std::string& name, const typename Optimizer::Options& options) {
  check<Of<Optimizer, Single>>(name, options);
  check<Of<Optimizer, DataParallel<2>>>(name, options);
  check<Of<Optimizer, Sharded<2>>>(name, options);
  check<Of<Optimizer, TensorParallel<2>>>(name, options);
  check<Of<Optimizer, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(name, options);
}

}  // namespace

TEST_CASE("20 steps of SGD on a residual network are PyTorch's, on one device, replicas, slices, parts and stages") {
  check_plans<SGD>("residual_20_16_10_sgd", {.learning_rate = 0.1});
}

TEST_CASE("20 steps of SGD with Nesterov momentum and weight decay are PyTorch's") {
  check_plans<MomentumSGD>("residual_20_16_10_momentum", {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-2, .nesterov = true});
}

TEST_CASE("20 steps of AdamW are PyTorch's") { check_plans<AdamW>("residual_20_16_10_adamw", {.learning_rate = 1e-2}); }

TEST_CASE("the comparison can fail: Adam is not AdamW, and no weight decay is not some") {
  const TensorFile file = golden_file("residual_20_16_10_adamw");
  Trainer<Of<Adam, Single>, CpuThreads> trainer{{.learning_rate = 1e-2, .weight_decay = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
