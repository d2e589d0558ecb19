// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <int KeyValues, class... Options>
struct Block : Residual<Named<"norm", LayerNorm<16>>, Named<"linear1", Linear<16, 16 + 8 * KeyValues>>,
                        SelfAttention<Heads<4>, KeyValueHeads<KeyValues>, Options...>, Named<"linear2", Linear<16, 16>>> {};
struct Seeing : Residual<Named<"norm", LayerNorm<16>>, Named<"linear1", Linear<16, 48>>, SelfAttention<Heads<2>>, Named<"linear2", Linear<16, 16>>> {
};
template <class Last>
struct Attention : Sequential<Input<6, 20>, Named<"linear1", Linear<20, 16>>, Named<"block1", Block<4, Causal>>, Named<"block2", Block<2, Causal>>,
                              Named<"block3", Last>, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using Of = Plan<Attention<Seeing>, MeanSquaredError, MomentumSGD, Batch<8>, Parts...>;

constexpr MomentumSGD::Options options{.learning_rate = 0.02, .momentum = 0.9, .weight_decay = 1e-2, .nesterov = true};

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("attention_20_16_10_momentum");
  follow<ThePlan>(file, options, examples(file.get<float>("input", {8, 6, 20}), file.get<float>("targets", {8, 6, 10}), 120), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with causal, grouped and full attention are PyTorch's, on one device, replicas, slices and stages, and run again") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<2>>>();
  check_plan<Of<Sharded<4>>>();
  check_plan<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<TensorParallel<4>>>();
  check_plan<Of<Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>>>();
  check_plan<Of<Single, Recompute<SelfAttention<Heads<2>>>>>();
}

TEST_CASE("the comparison can fail: attention that sees nothing behind it is another training") {
  struct Blind
      : Residual<Named<"norm", LayerNorm<16>>, Named<"linear1", Linear<16, 48>>, SelfAttention<Heads<2>, Causal>, Named<"linear2", Linear<16, 16>>> {
  };
  const TensorFile file = golden_file("attention_20_16_10_momentum");
  using Other = Plan<Attention<Blind>, MeanSquaredError, MomentumSGD, Batch<8>, Single>;
  Trainer<Other, CpuThreads> trainer{options, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 120));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
