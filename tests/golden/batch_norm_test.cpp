// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"
#include "heddle/run/runner.hpp"

using namespace golden;

namespace {

template <class First, class Second>
struct Imaged
    : Sequential<Named<"linear1", Linear<20, 48>>, Unflatten<3, 4, 4>, Named<"norm1", First>, GELU, Flatten, Named<"linear2", Linear<48, 32>>,
                 Unflatten<8, 2, 2>, Named<"norm2", Second>, Tanh, Flatten, Named<"linear3", Linear<32, 10>>> {};
using Second = BatchNorm2d<8, Epsilon<3>, Momentum<1, 4>>;
using Model = Imaged<BatchNorm2d<3>, Second>;
template <class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<8>, Parts...>;
template <class... Parts> using Still = Plan<Imaged<BatchNorm2d<3>, Frozen<Second>>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

Examples<float> batch_of(const TensorFile& file) { return examples(file.get<float>("input"), file.get<float>("targets"), 20); }

template <class ThePlan> void check_plan(const std::string& name = "batch_norm_20_10_adamw") {
  const TensorFile file = golden_file(name);
  follow<ThePlan>(file, {.learning_rate = 1e-2}, batch_of(file), 20);
}

template <class ThePlan> Trainer<ThePlan, CpuThreads> trained(const TensorFile& file) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(batch_of(file));
  return trainer;
}

}  // namespace

TEST_CASE(
    "20 steps of a model with BatchNorm2d are PyTorch's, running statistics too, where a step is one grain: alone, on stages, split, run again") {
  check_plan<Of<Single>>();
  check_plan<Of<Pipeline<Balanced<2>>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Single, Recompute<BatchNorm2d<3>, GELU>>>();
}

TEST_CASE("so are those of replicas and slices whose ranks tell each other of their rows, as torch.nn.SyncBatchNorm does") {
  using Joined = Imaged<BatchNorm2d<3, Synchronised>, BatchNorm2d<8, Epsilon<3>, Momentum<1, 4>, Synchronised>>;
  using Replicas = Plan<Joined, MeanSquaredError, AdamW, Batch<8>, DataParallel<4>>;
  using Slices = Plan<Joined, MeanSquaredError, AdamW, Batch<8>, Hybrid<Sharded<2>, DataParallel<2>>, Recompute<BatchNorm2d<3, Synchronised>, GELU>>;
  check_plan<Replicas>();
  check_plan<Slices>();
  check_plan<Plan<Joined, MeanSquaredError, AdamW, Batch<8>, Hybrid<TensorParallel<2>, DataParallel<2>>>>();
  const TensorFile file = golden_file("batch_norm_20_10_adamw");
  auto trainer = trained<Replicas>(file);
  check_close(trainer.evaluate(batch_of(file)).outputs, file.get<float>("predicted"), "predicted");
  auto apart = trained<Of<DataParallel<4>>>(file);
  CHECK(largest_difference(apart.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}

TEST_CASE("a prediction takes what was tracked, as PyTorch's does") {
  const TensorFile file = golden_file("batch_norm_20_10_adamw");
  auto trainer = trained<Of<Single>>(file);
  check_close(trainer.evaluate(batch_of(file)).outputs, file.get<float>("predicted"), "predicted");
  Runner<Inference<Model, Batch<8>, Single>, CpuThreads> runner;
  runner.load(trainer);
  check_close(runner.predict(file.get<float>("input")), file.get<float>("predicted"), "predicted by a runner");
  std::vector<float> moved = trainer.parameter("norm1.running_mean");
  moved[0] += 0.5F;
  trainer.set_parameter("norm1.running_mean", moved);
  CHECK(largest_difference(trainer.evaluate(batch_of(file)).outputs, file.get<float>("predicted")) > 10 * tolerance);
}

TEST_CASE("a frozen one is PyTorch's in eval(): it takes what was tracked, and leaves it") {
  const std::string name = "batch_norm_still_20_10_adamw";
  check_plan<Still<Single>>(name);
  check_plan<Still<Pipeline<Balanced<2>>>>(name);
  check_plan<Still<TensorParallel<2>>>(name);
}

TEST_CASE("the comparison can fail: grains of half the rows, another momentum are another training") {
  const TensorFile file = golden_file("batch_norm_20_10_adamw");
  auto halves = trained<Of<Single, Grain<4>>>(file);
  CHECK(largest_difference(halves.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
  using Other = Plan<Imaged<BatchNorm2d<3>, BatchNorm2d<8, Epsilon<3>>>, MeanSquaredError, AdamW, Batch<8>, Single>;
  auto slower = trained<Other>(file);
  check_close(slower.parameter("linear3.weight"), file.get<float>("after20.linear3.weight"), "what is trained");
  CHECK(largest_difference(slower.parameter("norm2.running_var"), file.get<float>("after20.norm2.running_var")) > 10 * tolerance);
}
