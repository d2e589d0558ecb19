// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <class Second>
struct Convolved : Sequential<Input<20>, Named<"linear1", Linear<20, 84>>, Unflatten<2, 6, 7>,
                              Named<"conv1", Conv2d<2, 8, KernelSize<3>, Padding<1>>>, ReLU, Named<"conv2", Second>, Tanh,
                              Named<"conv3", Conv2d<8, 6, KernelSize<2>, Dilation<1, 3>, NoBias>>, Flatten, Named<"linear2", Linear<30, 10>>> {};
using Grouped = Conv2d<8, 8, KernelSize<3, 2>, Stride<2, 1>, Padding<0, 1>, Groups<4>>;
template <class... Parts> using Of = Plan<Convolved<Grouped>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

Examples<float> batch_of(const TensorFile& file) { return examples(file.get<float>("input"), file.get<float>("targets"), 20); }
template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("convolution_20_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, batch_of(file), 20);
}

/// The convnet of the tutorials at a size that runs in a moment, its loss on the device of the second half.
struct FirstHalf : Sequential<Input<3, 16, 16>, Named<"conv1", Conv2d<3, 8, KernelSize<7>, Stride<2>, Padding<3>>>, ReLU, MaxPool2d<KernelSize<2>>> {
};
struct SecondHalf : Sequential<Flatten, Named<"fc", Linear<8 * 4 * 4, 10>>> {};
struct Convnet : Sequential<Unnumbered<FirstHalf>, Unnumbered<SecondHalf>> {};
template <class... Parts> using OfConvnet = Plan<Convnet, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;
using OnTwo = Pipeline<Stage<Unnumbered<FirstHalf>, On<0>>, Stage<Unnumbered<SecondHalf>, On<1>>, GPipe, Microbatches<2>>;

template <class ThePlan> void check_convnet() {
  const TensorFile file = golden_file("convnet_3_16_16");
  const auto images = file.get<float>("input", {8, 768});
  const std::vector<std::int32_t> labels = labels_of(file);
  follow<ThePlan>(file, {.learning_rate = 0.02, .momentum = 0.9}, examples(images, labels, 768), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with Conv2d are PyTorch's, on one device, replicas, slices, stages and split channels") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_plan<Of<TensorParallel<2>, Recompute<ReLU>>>();
}

TEST_CASE("20 steps of the tutorials' convnet are PyTorch's, also with its loss on the second device") {
  check_convnet<OfConvnet<Single>>();
  check_convnet<OfConvnet<DataParallel<4>>>();
  check_convnet<OfConvnet<Sharded<2>>>();
  check_convnet<OfConvnet<OnTwo>>();
  check_convnet<OfConvnet<TensorParallel<2>>>();
}

TEST_CASE("the comparison can fail: windows that are turned are another training") {
  using P = Of<Single>;
  const TensorFile file = golden_file("convolution_20_10_adamw");
  Trainer<P, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  const auto stored = file.get<float>("initial.conv1.weight");
  std::vector<float> turned(stored.begin(), stored.end());
  for (auto window = turned.begin(); window != turned.end(); window += 9) std::reverse(window, window + 9);
  trainer.set_parameter("conv1.weight", turned);
  CHECK(largest_difference(trainer.evaluate(batch_of(file)).outputs, file.get<float>("output")) > 100 * tolerance);
}
