// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"norm", RMSNorm<16, Epsilon<3>>>, Named<"linear", Linear<16, 16>>, Tanh> {};
template <class Last>
struct Normed : Sequential<Input<3, 20>, Named<"linear1", Linear<20, 16>>, Named<"norm1", LayerNorm<16>>, GELU, Named<"block", Inner>,
                           Named<"norm2", Last>, Named<"linear2", Linear<16, 10>>> {};
using Model = Normed<LayerNorm<16, NoBias, Epsilon<6>>>;
template <class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class ThePlan> void check() {
  const TensorFile file = golden_file("norm_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input", {8, 3, 20}), file.get<float>("targets", {8, 3, 10}), 60), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with LayerNorm and RMSNorm are PyTorch's, on one device, replicas, slices, stages, split sequences, and run again") {
  check<Of<Single>>();
  check<Of<DataParallel<2>>>();
  check<Of<Sharded<4>>>();
  check<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check<Of<TensorParallel<2>>>();
  check<Of<Single, Recompute<LayerNorm<16>, GELU>>>();
}

TEST_CASE("the comparison can fail: another epsilon is another training") {
  const TensorFile file = golden_file("norm_20_16_10_adamw");
  using Other = Plan<Normed<LayerNorm<16, NoBias, Epsilon<1>>>, MeanSquaredError, AdamW, Batch<8>, Single>;
  Trainer<Other, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 60));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}
