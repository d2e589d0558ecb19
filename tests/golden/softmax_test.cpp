// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <class Shares> struct Block : Residual<Named<"inner", Linear<16, 16>>, Shares> {};
template <class Shares>
struct Shared
    : Sequential<Input<3, 20>, Named<"linear1", Linear<20, 16>>, Named<"block", Block<Shares>>, Named<"linear2", Linear<16, 10>>, LogSoftmax> {};
template <class... Parts> using Of = Plan<Shared<Softmax>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("softmax_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input", {8, 3, 20}), file.get<float>("targets", {8, 3, 10}), 60), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with Softmax and LogSoftmax are PyTorch's, on one device, replicas, slices, stages, split layers, and run again") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<2>>>();
  check_plan<Of<Sharded<4>>>();
  check_plan<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Single, Recompute<Softmax, LogSoftmax>>>();
}

TEST_CASE("the comparison can fail: logarithms in the place of shares are another training") {
  const TensorFile file = golden_file("softmax_20_16_10_adamw");
  using Other = Plan<Shared<LogSoftmax>, MeanSquaredError, AdamW, Batch<8>, Single>;
  Trainer<Other, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 60));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
