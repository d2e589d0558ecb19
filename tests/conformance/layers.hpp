// SPDX-License-Identifier: MIT
// Room: tests. Every layer, loss and optimizer that a Compute must know; house.conformance finds one that is missing.
// Sees: graph.  Does not see: any backend.
// In: nothing.  Out: Layers, Losses, Optimizers.
#pragma once

#include <tuple>

#include "heddle/heddle.hpp"

namespace conformance {

using namespace heddle;

/// Some with options that have kernels or branches of their own. Sizes are those of the type alone: each trial draws others.
using Layers =
    std::tuple<Linear<4, 3>, Linear<4, 3, NoBias>, LayerNorm<4>, LayerNorm<4, NoBias, Epsilon<3>>, RMSNorm<4>, RMSNorm<4, Epsilon<4>>, BatchNorm2d<3>,
               BatchNorm2d<3, Epsilon<3>, Momentum<1, 2>>, BatchNorm2d<3, Synchronised>, Embedding<5, 3>, Embedding<5, 3, PaddingIndex<2>>, ReLU,
               GELU, GELUTanh, SiLU, LeakyReLU<>, LeakyReLU<1, 5>, Tanh, Sigmoid, Softmax, LogSoftmax, Dropout<1, 10>, Dropout<2, 3>, Dropout<0>,
               Flatten, Unflatten<3, 4>, Rescaling<>, Rescaling<3, 7>, SwiGLU, Concat, ConcatAlong<0>, ConcatAlong<1>, SelfAttention<Heads<2>>,
               SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, SelfAttention<Heads<2>, Dropout<1, 4>>,
               SelfAttention<Heads<2>, Causal, Dropout<1, 10>>, MaxPool2d<KernelSize<2>>, MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>,
               AvgPool2d<KernelSize<3, 2>>, AvgPool2d<KernelSize<3>, Stride<1, 2>, Padding<1>>, AdaptiveAvgPool2d<1>, AdaptiveAvgPool2d<4, 3>,
               Conv2d<2, 3, KernelSize<1>>, Conv2d<2, 3, KernelSize<3>, Padding<1>>,
               Conv2d<4, 6, KernelSize<3, 2>, Stride<2>, Padding<1, 2>, Dilation<2, 1>, Groups<2>, NoBias>, LearnedPositions<7, 5>,
               Rotary<8, Heads<2>>, Rotary<6, Heads<4>, KeyValueHeads<2>, RotaryBase<100>>>;
using SeveralLosses =
    heddle::Losses<LossOf<"words", Outputs<5>, CrossEntropyWith<Ignored<-100>, ClassWeights>>,
                   LossOf<"values", Outputs<3>, Huber<1, 2>, LossWeight<1, 4>>,
                   LossOf<"early", Outputs<5>, CrossEntropyWith<Ignored<-100>, LabelSmoothing<1, 10>>, TargetsOf<"words">, LossWeight<3, 10>>>;
using Losses = std::tuple<CrossEntropy, CrossEntropyWith<Ignored<-100>>, CrossEntropyWith<Ignored<-100>, ClassWeights>,
                          CrossEntropyWith<LabelSmoothing<1, 10>>, CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, 4>>,
                          MeanSquaredError, MeanAbsoluteError, Huber<1, 2>, BinaryCrossEntropy, SeveralLosses>;
using Optimizers = std::tuple<SGD, MomentumSGD, Adam, AdamW>;

/// call.operator()<L>() for each of them.
template <class... L, class Call> void for_each_of(const std::tuple<L...>*, const Call& call) { (call.template operator()<L>(), ...); }
template <class List, class Call> void for_each_of(const Call& call) { for_each_of(static_cast<const List*>(nullptr), call); }

}  // namespace conformance
