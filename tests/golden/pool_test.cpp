// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <class First, class Second>
struct Pooled : Sequential<Input<20>, Named<"linear1", Linear<20, 144>>, Unflatten<3, 6, 8>, GELU, First, Second, Tanh, Flatten,
                           Named<"linear2", Linear<18, 10>>> {};
using Largest = MaxPool2d<KernelSize<3, 2>, Stride<2>, Padding<1>>;
using Averaged = AvgPool2d<KernelSize<3>, Stride<2>, Padding<1>>;
template <class... Parts> using Of = Plan<Pooled<Largest, Averaged>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

struct Divided : Sequential<Input<20>, Named<"linear1", Linear<20, 105>>, SiLU, Unflatten<3, 5, 7>, AdaptiveAvgPool2d<3, 2>, LeakyReLU<1, 5>, Flatten,
                            Named<"linear2", Linear<18, 10>>> {};
template <class... Parts> using OfDivided = Plan<Divided, MeanSquaredError, AdamW, Batch<8>, Parts...>;

Examples<float> batch_of(const TensorFile& file) { return examples(file.get<float>("input"), file.get<float>("targets"), 20); }
template <class ThePlan> void check_plan(const std::string& name = "pool_20_10_adamw") {
  const TensorFile file = golden_file(name);
  follow<ThePlan>(file, {.learning_rate = 1e-2}, batch_of(file), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with MaxPool2d and AvgPool2d are PyTorch's, on one device, replicas, slices, stages and split channels") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_plan<Of<TensorParallel<3>>>();
}

TEST_CASE("20 steps of a model with AdaptiveAvgPool2d, SiLU and LeakyReLU are PyTorch's under the same plans") {
  const std::string name = "divided_20_10_adamw";
  check_plan<OfDivided<Single>>(name);
  check_plan<OfDivided<DataParallel<2>>>(name);
  check_plan<OfDivided<Sharded<4>>>(name);
  check_plan<OfDivided<Pipeline<Balanced<2>>, Recompute<SiLU>>>(name);
  check_plan<OfDivided<TensorParallel<3>>>(name);
}

TEST_CASE("the comparison can fail: the mean in the place of the largest is another training") {
  using Other = Plan<Pooled<AvgPool2d<KernelSize<3, 2>, Stride<2>, Padding<1>>, Averaged>, MeanSquaredError, AdamW, Batch<8>, Single>;
  const TensorFile file = golden_file("pool_20_10_adamw");
  Trainer<Other, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(batch_of(file));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
