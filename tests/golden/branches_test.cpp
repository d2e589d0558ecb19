// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Narrow : Sequential<Linear<16, 6>, Tanh, Linear<6, 16>> {};
struct Mix : Branches<Add, Linear<16, 16>, Narrow, Sequential<>, Sequential<Sigmoid, Linear<16, 16, NoBias>>> {};
struct Without : Branches<Add, Linear<16, 16>, Narrow, Sequential<Sigmoid>, Sequential<Sigmoid, Linear<16, 16, NoBias>>> {};
template <class Inner>
struct Branched
    : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Named<"mix", Inner>, Named<"norm", LayerNorm<16>>, Named<"linear2", Linear<16, 10>>> {};
struct Features
    : Branches<Concat, Linear<16, 16>, Sequential<Linear<16, 6>, Tanh, Linear<6, 5>>, Sequential<>, Sequential<Sigmoid, Linear<16, 4, NoBias>>> {};
template <class Op>
struct Joined : Sequential<Input<3, 20>, Named<"linear1", Linear<20, 16>>, GELU, Named<"longer", Branches<Op, Linear<16, 16>, Tanh>>,
                           Named<"mix", Features>, Named<"linear2", Linear<41, 10>>> {};
template <class... Parts> using OfJoined = Plan<Joined<ConcatAlong<0>>, MeanSquaredError, AdamW, Batch<8>, Parts...>;
template <class... Parts> using Of = Plan<Branched<Mix>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class ThePlan> void check() {
  const TensorFile file = golden_file("branches_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20);
}

template <class ThePlan> void check_joined_plan() {
  const TensorFile file = golden_file("joined_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input", {8, 3, 20}), file.get<float>("targets", {8, 6, 10}), 60), 20);
}

}  // namespace

TEST_CASE("20 steps of a model with branches are PyTorch's, on one device, replicas, slices, stages, parts, and run again") {
  check<Of<Single>>();
  check<Of<DataParallel<2>>>();
  check<Of<Sharded<4>>>();
  check<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check<Of<TensorParallel<2>>>();
  check<Of<Single, Recompute<Tanh, Add>>>();
}

TEST_CASE("the comparison can fail: a branch that bends what it takes is another model than one that hands it on") {
  const TensorFile file = golden_file("branches_20_16_10_adamw");
  using Other = Plan<Branched<Without>, MeanSquaredError, AdamW, Batch<8>, Single>;
  Trainer<Other, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}

TEST_CASE("20 steps of a model that joins features and sequences are PyTorch's, on one device, replicas, slices, stages, parts, and run again") {
  check_joined_plan<OfJoined<Single>>();
  check_joined_plan<OfJoined<DataParallel<2>>>();
  check_joined_plan<OfJoined<Sharded<4>>>();
  check_joined_plan<OfJoined<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_joined_plan<OfJoined<TensorParallel<2>>>();
  check_joined_plan<OfJoined<Single, Recompute<Tanh, Concat>>>();
}
