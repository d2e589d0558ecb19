// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <class Gate>
struct Feed : Residual<Named<"norm", RMSNorm<16, Epsilon<3>>>, Named<"linear1", Linear<16, 48, NoBias>>, Gate, Named<"linear2", Linear<24, 16>>> {};
template <class Gate>
struct Gated : Sequential<Input<20>, Named<"linear1", Linear<20, 16>>, Named<"block", Feed<Gate>>, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using Of = Plan<Gated<SwiGLU>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("swiglu_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input"), file.get<float>("targets"), 20), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with SwiGLU are PyTorch's, on one device, replicas, slices, stages and split layers") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<2>>>();
  check_plan<Of<Sharded<4>>>();
  check_plan<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<TensorParallel<4>>>();
}

TEST_CASE("the comparison can fail: a gate in the place of the value is another training") {
  const TensorFile file = golden_file("swiglu_20_16_10_adamw");
  Trainer<Of<Single>, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  const auto initial = file.get<float>("initial.block.linear1.weight");
  std::vector<float> weight(initial.begin(), initial.end());
  std::rotate(weight.begin(), weight.begin() + std::ssize(weight) / 2, weight.end());  // the two halves change places
  trainer.set_parameter("block.linear1.weight", weight);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
