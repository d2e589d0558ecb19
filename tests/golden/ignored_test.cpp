// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Language : Sequential<Input<6>, Named<"embedding", Embedding<13, 8>>, Named<"block", Inner>, Named<"head", Linear<8, 13, NoBias>>> {};
using Loss = CrossEntropyWith<Ignored<-100>>;
template <class... Parts> using Of = Plan<Language, Loss, MomentumSGD, Batch<8>, Parts...>;
template <class... Parts> using Weighed = Plan<Language, CrossEntropyWith<ClassWeights, Ignored<-100>>, MomentumSGD, Batch<8>, Parts...>;

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("ignored_13_8");
  const Sentences sentences{file};
  follow<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9}, sentences.batch(), 20);
}

}  // namespace

TEST_CASE("20 steps whose padding is ignored are PyTorch's, on one device, replicas, slices, stages and parts of the vocabulary") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<TensorParallel<13>>>();
  check_plan<Of<Single, Accumulate<2>>>();
  check_plan<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
}

TEST_CASE("20 steps of classes that have weights are PyTorch's too") {
  const TensorFile file = golden_file("weighted_13_8");
  const Sentences sentences{file};
  std::vector<float> weights;
  for (int j = 0; j < 13; ++j) weights.push_back(static_cast<float>(j % 9) / 4);
  const auto check = [&]<class ThePlan>(const ThePlan*) {
    follow_type<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9}, sentences.batch(), 20,
                         [&](Trainer<ThePlan, CpuThreads>& trainer) { trainer.class_weights(weights); });
  };
  check(static_cast<const Weighed<Single>*>(nullptr));
  check(static_cast<const Weighed<DataParallel<4>>*>(nullptr));
  check(static_cast<const Weighed<Sharded<2>>*>(nullptr));
  check(static_cast<const Weighed<TensorParallel<13>>*>(nullptr));
  check(static_cast<const Weighed<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>*>(nullptr));
}

TEST_CASE("the comparison can fail: a mean over all positions is another loss") {
  const TensorFile file = golden_file("ignored_13_8");
  const Sentences sentences{file};
  CHECK(std::count(sentences.next.begin(), sentences.next.end(), -100) == 27);
  Trainer<Of<Single>, CpuThreads> trainer{{}, Seed{1}};
  start(trainer, file);
  const double there = static_cast<double>(file.get<float>("loss")[0]);
  const double ours = trainer.evaluate(sentences.batch()).loss;
  CHECK(std::abs(ours - there) <= tolerance);
  CHECK(std::abs(ours * 21 / 48 - there) > 10 * tolerance);
}
