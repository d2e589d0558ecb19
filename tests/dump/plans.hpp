// SPDX-License-Identifier: MIT
// Room: tests. The plans that are dumped: every policy, order and option, and products of them.
// Sees: graph, policies, plan.  Does not see: processes, kernels.
// In: -.  Out: each_dumped_plan.
#pragma once

#include "heddle/graph/layers/by_hand.hpp"
#include "heddle/heddle.hpp"

namespace heddle::tests::dumped {

// ---- models. ReLU, MeanSquaredError and SGD take no function whose bits depend on the machine.

struct Mlp : Sequential<Linear<7, 6>, ReLU, Linear<6, 5>> {};
using Bend = Residual<Linear<6, 8>, ReLU, Linear<8, 6, NoBias>>;
struct Blocks : Sequential<Linear<7, 6>, Repeat<2, Bend>, ReLU, Linear<6, 5>> {};
struct Deep : Sequential<Linear<7, 6>, Repeat<4, Bend>, ReLU, Linear<6, 5>> {};
struct Even : Sequential<Linear<6, 8>, ReLU, Residual<Linear<8, 12>, ReLU, Linear<12, 8>>, Linear<8, 4>> {};
struct Stack : Sequential<Linear<6, 8>, Repeat<2, Residual<Linear<8, 12>, ReLU, Linear<12, 8>>>, Linear<8, 4>> {};
struct Steps : Sequential<Input<4, 6>, Linear<6, 8>, Residual<Linear<8, 12, NoBias>, ReLU, Linear<12, 8>>, Flatten, Linear<32, 4>> {};
struct Shared : Sequential<Linear<7, 6>, Named<"a", Linear<6, 8>>, ReLU, Linear<8, 6>, Tied<"b", Linear<6, 8>, To<"a">>, Linear<8, 6>,
                           Tied<"c", Linear<6, 8>, To<"a">>, Linear<8, 5>> {};
struct Words : Sequential<Input<4>, Named<"table", Row<Embedding<12, 8>>>, Residual<Linear<8, 16, NoBias>, ReLU, Linear<16, 8, NoBias>>,
                          Linear<8, 12, NoBias>> {};
struct Tokens : Sequential<Input<4>, Named<"table", Embedding<12, 8>>, Residual<Linear<8, 16, NoBias>, ReLU, Linear<16, 8, NoBias>>,
                           Tied<"head", Linear<8, 12, NoBias>, To<"table">>> {};
struct Tuned : Sequential<Frozen<Linear<7, 6>>, ReLU, Linear<6, 6>, OneUnit<Frozen<Linear<6, 8>>, ReLU, Linear<8, 6>>, Frozen<Linear<6, 5>>> {};
using Soft = Residual<Linear<8, 12>, GELU, Linear<12, 8>>;
struct Smooth : Sequential<Linear<6, 8>, Repeat<2, Soft>, Tanh, Linear<8, 12>, Sigmoid, Linear<12, 8>> {};
struct Forked : Sequential<Linear<7, 6>, Branches<Add, Linear<6, 6>, Sequential<Linear<6, 8>, ReLU, Linear<8, 6>>>,
                           Branches<Concat, Sequential<>, Linear<6, 4>>, Linear<10, 5>> {};
struct Talk : Sequential<Input<4, 6>, Linear<6, 24>, SelfAttention<Heads<2>, Causal>, Linear<8, 8>, Linear<8, 24>, SwiGLU, Linear<12, 8>> {};
struct Apart
    : Sequential<Input<4, 6>, RMSNorm<6>, Branches<Concat, Linear<6, 8>, Linear<6, 4>, Linear<6, 4>>, SelfAttention<Heads<4>, KeyValueHeads<2>>,
                 Linear<8, 8>, Residual<RMSNorm<8>, Branches<Concat, Linear<8, 12>, Linear<8, 12>>, SwiGLU, Linear<12, 8>>, RMSNorm<8>> {};

/// Channels that are normalised over a grain, and once by what was tracked.
struct Imaged : Sequential<Linear<7, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3>, ReLU, Residual<BatchNorm2d<3, Momentum<1, 4>>, ReLU>,
                           Frozen<BatchNorm2d<3>>, Flatten, Linear<12, 5>> {};

/// Channels that are normalised over a micro-batch of all ranks.
struct Joint
    : Sequential<Linear<7, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, ReLU, Residual<BatchNorm2d<3, Synchronised, Momentum<1, 4>>, ReLU>,
                 Frozen<BatchNorm2d<3, Synchronised>>, Flatten, Linear<12, 5>> {};

// ---- plans.

template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, SGD, Batch<16, KeepLast>, Grain<2>, Parts...>;
template <class Model, class... Parts> using Free = Plan<Model, MeanSquaredError, SGD, Batch<16, KeepLast>, Parts...>;  // no tree
template <class Model, class... Parts> using Whole = Plan<Model, MeanSquaredError, MomentumSGD, Batch<16>, Parts...>;
template <class Model, class... Parts> using Classes = Plan<Model, CrossEntropy, Adam, Batch<16, KeepLast>, Parts...>;
template <int S, class Order, int M = 4> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;
using Head = Sequential<Linear<7, 6>>;
using Body = Repeat<2, Bend>;
using Tail = Sequential<ReLU, Linear<6, 5>>;
template <class Order> using Back = Pipeline<Stage<Head, On<0>>, Stage<Body, On<1>>, Stage<Tail, On<0>>, Order, Microbatches<4>>;

/// visit.plan<P>(name) for every plan, in the order of the text that is kept.
template <class Visit> void each_batch_plan(Visit& visit) {
  visit.template plan<Of<Mlp, Single>>("single");
  visit.template plan<Free<Mlp, Single>>("single, sums without a tree");
  visit.template plan<Whole<Mlp, Single>>("single, momentum, a batch that is never smaller");
  visit.template plan<Plan<Mlp, MeanSquaredError, SGD, Batch<16, DropLast>, Single>>("single, smaller batches are dropped");
  visit.template plan<Plan<Mlp, MeanSquaredError, SGD, Batch<16, PadLast>, DataParallel<2>>>("2 replicas, smaller batches are filled up");
  visit.template plan<Of<Blocks, Single, Accumulate<2>>>("single, 2 rounds");
  visit.template plan<Of<Blocks, Single, Recompute<EveryBlock>>>("single, blocks run again");
  visit.template plan<Of<Mlp, Single, Recompute<ReLU>>>("single, ReLU runs again");
  visit.template plan<Of<Blocks, Single, Clip<GlobalNorm>>>("single, clipped");
  visit.template plan<Of<Blocks, Single, LossScaling>>("single, scaled");
  visit.template plan<Of<Blocks, Single, LossScaling, Clip<GlobalNorm>, Accumulate<2>>>("single, scaled, clipped, 2 rounds");
  visit.template plan<Classes<Smooth, Single>>("single, classes");
  visit.template plan<Of<Mlp, DataParallel<2>>>("2 replicas");
  visit.template plan<Free<Mlp, DataParallel<3>>>("3 replicas, sums without a tree");
  visit.template plan<Of<Blocks, DataParallel<4>, Bucket<256_B>>>("4 replicas, small buckets");
  visit.template plan<Of<Blocks, DataParallel<2>, Accumulate<2>, Clip<GlobalNorm>>>("2 replicas, 2 rounds, clipped");
  visit.template plan<Of<Blocks, DataParallel<2>, LossScaling>>("2 replicas, scaled");
  visit.template plan<Free<Mlp, WeightedDataParallel<3, 1>>>("weighted replicas 3 and 1");
  visit.template plan<Free<Mlp, WeightedDataParallel<1, 2, 1>, Accumulate<2>>>("weighted replicas 1, 2 and 1, 2 rounds");
  visit.template plan<Of<Blocks, Sharded<2, OptimizerState>>>("2 slices of states");
  visit.template plan<Whole<Blocks, Sharded<4, OptimizerState>, Accumulate<2>>>("4 slices of states, momentum, 2 rounds");
  visit.template plan<Of<Blocks, Sharded<2, Gradients>>>("2 slices of gradients");
  visit.template plan<Free<Blocks, Sharded<2, Gradients>, Accumulate<2>>>("2 slices of gradients, 2 rounds, sums without a tree");
  visit.template plan<Of<Blocks, Sharded<2, Parameters>>>("2 slices of parameters");
  visit.template plan<Of<Tuned, Sharded<2, Parameters>, Accumulate<2>>>("2 slices of parameters, some of them frozen, 2 rounds");
  visit.template plan<Free<Blocks, Sharded<4>, Accumulate<2>, Clip<GlobalNorm>>>("4 slices of parameters, 2 rounds, clipped");
  visit.template plan<Of<Blocks, Sharded<2, Keep::Step>, Accumulate<2>>>("2 slices of parameters gathered once a step");
  visit.template plan<Of<Blocks, Sharded<2>, Recompute<EveryBlock>, LossScaling>>("2 slices of parameters, blocks run again, scaled");
  visit.template plan<Of<Blocks, Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>>("2 slices of states x 2 replicas");
  visit.template plan<Of<Blocks, Hybrid<DataParallel<2>, Sharded<2, Gradients>>>>("2 replicas x 2 slices of gradients");
  visit.template plan<Of<Blocks, Hybrid<Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>>>("2 slices of parameters x 2 replicas, clipped");
}

template <class Visit> void each_stage_plan(Visit& visit) {
  visit.template plan<Of<Mlp, Pipeline<Balanced<2>>>>("2 stages");
  visit.template plan<Of<Blocks, Pipeline<Balanced<2>, Microbatches<2>>>>("2 stages, 2 micro-batches without an order");
  visit.template plan<Of<Blocks, In<2, GPipe>>>("2 stages, GPipe");
  visit.template plan<Of<Blocks, In<2, OneFOneB>>>("2 stages, 1F1B");
  visit.template plan<Of<Deep, In<4, OneFOneB>>>("4 stages, 1F1B");
  visit.template plan<Of<Deep, In<3, GPipe>, Recompute<EveryBlock>>>("3 stages, GPipe, blocks run again");
  visit.template plan<Of<Deep, In<2, Interleaved<2>>>>("2 devices, interleaved twice");
  visit.template plan<Of<Deep, In<2, Interleaved<3>>, Clip<GlobalNorm>>>("2 devices, interleaved three times, clipped");
  visit.template plan<Of<Blocks, In<2, ZeroBubbleH1>>>("2 stages, ZB-H1");
  visit.template plan<Of<Deep, In<4, ZeroBubbleH1>, Recompute<EveryBlock>>>("4 stages, ZB-H1, blocks run again");
  visit.template plan<Of<Blocks, Back<OneFOneB>>>("3 stages, the last back on device 0, 1F1B");
  visit.template plan<Of<Blocks, Back<GPipe>, LossScaling>>("3 stages, the last back on device 0, GPipe, scaled");
  visit.template plan<Of<Blocks, Pipeline<Stage<Sequential<Head, Body>, On<1>>, Stage<Tail, On<0>>, ZeroBubbleH1, Microbatches<2>>>>(
      "stages on devices 1 and 0, ZB-H1");
  visit.template plan<Of<Blocks, Pipeline<Balanced<2>, OneFOneB, Microbatches<1>, FewMicrobatches>>>("2 stages, 1F1B, one micro-batch");
  visit.template plan<Of<Blocks, In<2, OneFOneB, 2>, Accumulate<2>>>("2 stages, 1F1B, 2 rounds");
  visit.template plan<Classes<Smooth, In<2, OneFOneB>, Clip<GlobalNorm>>>("2 stages, classes, clipped");
  visit.template plan<Of<Blocks, Hybrid<In<2, OneFOneB>, DataParallel<2>>>>("2 stages x 2 replicas");
  visit.template plan<Of<Blocks, Hybrid<DataParallel<2>, In<2, GPipe>>, Clip<GlobalNorm>>>("2 replicas x 2 stages, clipped");
  visit.template plan<Of<Blocks, Hybrid<In<2, OneFOneB>, Sharded<2>>>>("2 stages x 2 slices of parameters");
  visit.template plan<Of<Blocks, Hybrid<In<2, ZeroBubbleH1>, Sharded<2, Keep::Step>>>>("2 stages, ZB-H1, x 2 slices gathered once a step");
  visit.template plan<Of<Blocks, Hybrid<In<2, Interleaved<2>>, Sharded<2, Gradients>>>>("2 devices, interleaved, x 2 slices of gradients");
  visit.template plan<Free<Blocks, Hybrid<In<2, OneFOneB, 2>, WeightedDataParallel<2, 1>>>>("2 stages x weighted replicas 2 and 1");
  visit.template plan<Of<Blocks, Hybrid<In<2, OneFOneB>, Sharded<2, OptimizerState>, DataParallel<2>>, Clip<GlobalNorm>, LossScaling>>(
      "2 stages x 2 slices of states x 2 replicas, clipped, scaled");
}

template <class Visit> void each_split_plan(Visit& visit) {
  visit.template plan<Free<Even, TensorParallel<2>>>("2 tensor ranks");
  visit.template plan<Free<Even, TensorParallel<4>, Clip<GlobalNorm>>>("4 tensor ranks, clipped");
  visit.template plan<Free<Stack, TensorParallel<2>, Recompute<EveryBlock>, Accumulate<2>>>("2 tensor ranks, blocks run again, 2 rounds");
  visit.template plan<Free<Steps, TensorParallel<2, SequenceParallel>>>("2 tensor ranks, sequences in parts");
  visit.template plan<Free<Steps, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>, LossScaling>>(
      "2 tensor ranks, sequences in parts, x 2 replicas, scaled");
  visit.template plan<Free<Even, Hybrid<TensorParallel<2>, Sharded<2>>>>("2 tensor ranks x 2 slices of parameters");
  visit.template plan<Free<Even, Hybrid<TensorParallel<2>, In<2, OneFOneB>>>>("2 tensor ranks x 2 stages");
  visit.template plan<Free<Even, Hybrid<TensorParallel<2>, In<2, ZeroBubbleH1, 2>, DataParallel<2>>, Clip<GlobalNorm>>>(
      "2 tensor ranks x 2 stages, ZB-H1, x 2 replicas, clipped");
  visit.template plan<Free<Words, TensorParallel<2>>>("2 tensor ranks, a vocabulary in parts");
  visit.template plan<Classes<Words, TensorParallel<2>>>("2 tensor ranks, a vocabulary in parts, classes");
  visit.template plan<Classes<Words, Hybrid<TensorParallel<2>, In<2, OneFOneB, 2>>, Clip<GlobalNorm>>>(
      "2 tensor ranks x 2 stages, a vocabulary in parts, classes, clipped");
  visit.template plan<Of<Shared, Single>>("tied, single");
  visit.template plan<Of<Shared, Sharded<2>>>("tied, 2 slices of parameters");
  visit.template plan<Of<Shared, In<3, OneFOneB>>>("tied, 3 stages");
  visit.template plan<Of<Shared, Hybrid<In<2, ZeroBubbleH1>, Sharded<2, OptimizerState>>, Clip<GlobalNorm>>>(
      "tied, 2 stages, ZB-H1, x 2 slices of states, clipped");
  visit.template plan<Of<Tokens, Hybrid<In<2, GPipe>, DataParallel<2>>>>("tied embedding, 2 stages x 2 replicas");
  visit.template plan<Free<Tokens, TensorParallel<2>>>("tied embedding, 2 tensor ranks");
  visit.template plan<Inference<Blocks, Batch<16>, Single>>("applied only, single");
  visit.template plan<Inference<Blocks, Batch<16>, In<2, OneFOneB>>>("applied only, 2 stages");
  visit.template plan<Inference<Steps, Batch<16>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>>(
      "applied only, 2 tensor ranks, sequences in parts, x 2 replicas");
  visit.template plan<Inference<Shared, Batch<16>, Sharded<2, Keep::Step>>>("applied only, tied, 2 slices of parameters");
}

template <class Visit> void each_forked_plan(Visit& visit) {
  visit.template plan<Of<Forked, Single>>("branches, single");
  visit.template plan<Of<Forked, Hybrid<In<2, OneFOneB>, Sharded<2>>>>("branches, 2 stages x 2 slices of parameters");
  visit.template plan<Free<Forked, TensorParallel<2>>>("branches, 2 tensor ranks");
  visit.template plan<Classes<Talk, DataParallel<2>, Recompute<SwiGLU>>>("heads, 2 replicas, gates run again");
  visit.template plan<Classes<Talk, Hybrid<TensorParallel<2>, In<2, ZeroBubbleH1, 2>>>>("heads, 2 tensor ranks x 2 stages, ZB-H1");
  visit.template plan<Classes<Apart, TensorParallel<2, SequenceParallel>>>("projections apart, 2 tensor ranks, sequences in parts");
  visit.template plan<Classes<Apart, Hybrid<TensorParallel<2>, In<2, ZeroBubbleH1, 2>, Sharded<2>>>>(
      "projections apart, 2 tensor ranks x 2 stages, ZB-H1, x 2 slices of parameters");
}

template <class Visit> void each_tracking_plan(Visit& visit) {
  visit.template plan<Of<Imaged, Single, Clip<GlobalNorm>, Recompute<ReLU, BatchNorm2d<3>>>>("norms over grains, clipped, run again");
  visit.template plan<Of<Imaged, Hybrid<In<2, ZeroBubbleH1>, Sharded<2>>, LossScaling>>("norms over grains, 2 stages, ZB-H1, x 2 slices, scaled");
}

template <class Visit> void each_plan_in_phases(Visit& visit) {
  visit.template plan<Of<Joint, Hybrid<Sharded<2>, DataParallel<2>>, Recompute<ReLU, BatchNorm2d<3, Synchronised>>>>(
      "norms over ranks, 2 slices x 2 replicas, run again");
  visit.template plan<Of<Joint, Hybrid<In<2, ZeroBubbleH1>, DataParallel<2>>, Clip<GlobalNorm>>>("norms over ranks, 2 stages, ZB-H1, x 2 replicas");
}

template <class Visit> void each_guarded_plan(Visit& visit) {
  visit.template plan<Of<Blocks, DataParallel<2>, Guarded>>("2 replicas, guarded");
  visit.template plan<Of<Blocks, Hybrid<In<2, OneFOneB, 2>, Sharded<2, OptimizerState>>, Guarded, LossScaling, Clip<GlobalNorm>>>(
      "2 stages x 2 slices of states, scaled, clipped, guarded");
}

template <class Visit> void each_dumped_plan(Visit& visit) {
  each_batch_plan(visit);
  each_stage_plan(visit);
  each_split_plan(visit);
  each_forked_plan(visit);
  each_tracking_plan(visit);
  each_plan_in_phases(visit);
  each_guarded_plan(visit);
}

}  // namespace heddle::tests::dumped
