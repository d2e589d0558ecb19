// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Both : Sequential<Named<"linear2", Linear<16, 16>>, Tanh,
                         Unnumbered<Branches<Concat, Named<"digit", Linear<16, 10>>, Named<"angle", Linear<16, 3>>>>> {};
struct Heads3 : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Unnumbered<Branches<Concat, Unnumbered<Both>, Named<"early", Linear<16, 10>>>>> {};
using Told = Losses<LossOf<"digit", Outputs<10>, CrossEntropyWith<Ignored<-100>>>, LossOf<"angle", Outputs<3>, Huber<1, 2>, LossWeight<1, 2>>,
                    LossOf<"early", Outputs<10>, CrossEntropyWith<Ignored<-100>, LabelSmoothing<1, 10>>, TargetsOf<"digit">, LossWeight<3, 10>>>;
template <class... Parts> using Of = Plan<Heads3, Told, AdamW, Batch<8>, Parts...>;

struct Inside : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Words : Sequential<Input<6>, Named<"embedding", Embedding<13, 8>>, Named<"block", Inside>,
                          Unnumbered<Branches<Concat, Named<"next", Linear<8, 13>>, Named<"value", Linear<8, 2>>>>> {};
using Spoken =
    Losses<LossOf<"next", Outputs<13>, CrossEntropyWith<Ignored<-100>, ClassWeights>>, LossOf<"value", Outputs<2>, MeanSquaredError, LossWeight<2>>>;
template <class... Parts> using Spells = Plan<Words, Spoken, MomentumSGD, Batch<8>, Parts...>;

}  // namespace

TEST_CASE("20 steps of a classifier, a regression and an auxiliary loss of an earlier layer are PyTorch's, under five policies") {
  const TensorFile file = golden_file("several_20_16");
  const auto batch = examples(file.get<float>("input"), labels_of(file), 20).with_targets(file.get<float>("values"), 3);
  const auto check = [&]<class Policy>(std::type_identity<Policy>) { follow<Of<Policy>>(file, {.learning_rate = 1e-2}, batch, 20); };
  check(std::type_identity<Single>{});
  check(std::type_identity<DataParallel<4>>{});
  check(std::type_identity<Sharded<2>>{});
  check(std::type_identity<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>{});
  check(std::type_identity<TensorParallel<2>>{});
}

TEST_CASE("20 steps of the next word and two numbers of each position are PyTorch's, also where words are ignored and weigh") {
  const TensorFile file = golden_file("several_13_8");
  const Sentences sentences{file};
  const auto batch = sentences.batch().with_targets(file.get<float>("values"), 12);
  std::vector<float> weights;
  for (int j = 0; j < 13; ++j) weights.push_back(static_cast<float>(j % 9) / 4);
  const auto check = [&]<class Policy>(std::type_identity<Policy>) {
    using ThePlan = Spells<Policy>;
    follow_type<ThePlan>(file, {.learning_rate = 0.1, .momentum = 0.9}, batch, 20,
                         [&](Trainer<ThePlan, CpuThreads>& trainer) { trainer.class_weights(weights); });
  };
  check(std::type_identity<Single>{});
  check(std::type_identity<DataParallel<4>>{});
  check(std::type_identity<Sharded<2>>{});
  check(std::type_identity<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>{});
  check(std::type_identity<TensorParallel<2>>{});
}
