// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<16, 16>>, Tanh> {};
struct Model : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Named<"block", Inner>, Sigmoid, Named<"linear2", Linear<16, 10>>> {};
template <class Loss, class... Parts> using Of = Plan<Model, Loss, SGD, Batch<8>, Parts...>;

struct Inside : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Language : Sequential<Input<6>, Named<"embedding", Embedding<13, 8>>, Named<"block", Inside>, Named<"head", Linear<8, 13, NoBias>>> {};
using Smoothed = CrossEntropyWith<LabelSmoothing<1, 10>, ClassWeights, Ignored<-100>>;
template <class... Parts> using Words = Plan<Language, Smoothed, MomentumSGD, Batch<8>, Parts...>;

Examples<float> batch_of(const TensorFile& file) { return examples(file.get<float>("input"), file.get<float>("targets"), 20); }
template <class ThePlan> void check_plan(const std::string& name, double learning_rate) {
  const TensorFile file = golden_file(name);
  follow<ThePlan>(file, {.learning_rate = learning_rate}, batch_of(file), 20);
}
template <class Loss> void check_loss(const std::string& name, double learning_rate) {
  check_plan<Of<Loss, Single>>(name, learning_rate);
  check_plan<Of<Loss, DataParallel<4>>>(name, learning_rate);
  check_plan<Of<Loss, Sharded<2>>>(name, learning_rate);
  check_plan<Of<Loss, TensorParallel<2>>>(name, learning_rate);
  check_plan<Of<Loss, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(name, learning_rate);
}

}  // namespace

TEST_CASE("20 steps of each loss of single elements are PyTorch's, on one device, replicas, slices, parts and stages") {
  check_loss<MeanAbsoluteError>("absolute_20_16_10", 0.1);
  check_loss<Huber<1, 2>>("huber_20_16_10", 0.5);
  check_loss<BinaryCrossEntropy>("binary_20_16_10", 0.5);
}

TEST_CASE("20 steps of smoothed labels whose classes have weights, some ignored, are PyTorch's, also over parts of the vocabulary") {
  const TensorFile file = golden_file("smoothed_13_8");
  const Sentences sentences{file};
  std::vector<float> weights;
  for (int j = 0; j < 13; ++j) weights.push_back(static_cast<float>(j % 9) / 4);
  const auto check = [&]<class ThePlan>(const ThePlan*) {
    follow_type<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9}, sentences.batch(), 20,
                         [&](Trainer<ThePlan, CpuThreads>& trainer) { trainer.class_weights(weights); });
  };
  check(static_cast<const Words<Single>*>(nullptr));
  check(static_cast<const Words<DataParallel<4>>*>(nullptr));
  check(static_cast<const Words<Sharded<2>>*>(nullptr));
  check(static_cast<const Words<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>*>(nullptr));
  check(static_cast<const Words<TensorParallel<13>>*>(nullptr));
}

TEST_CASE("the comparison can fail: without smoothing, or with another distance, it is another loss") {
  const TensorFile file = golden_file("huber_20_16_10");
  const auto loss = [&]<class ThePlan>(const ThePlan*) {
    Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.5}, Seed{1}};
    start(trainer, file);
    return trainer.evaluate(batch_of(file)).loss - static_cast<double>(file.get<float>("loss")[0]);
  };
  CHECK(std::abs(loss(static_cast<const Of<Huber<1, 2>, Single>*>(nullptr))) <= tolerance);
  CHECK(std::abs(loss(static_cast<const Of<Huber<>, Single>*>(nullptr))) > 100 * tolerance);
  CHECK(std::abs(loss(static_cast<const Of<MeanAbsoluteError, Single>*>(nullptr))) > 100 * tolerance);
}
