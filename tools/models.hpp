// SPDX-License-Identifier: MIT
// The convolutional network and the language model that ./heddle train trains and ./heddle compare compares.
#pragma once

#include <heddle/heddle.hpp>

namespace models {

using namespace heddle;

template <int In, int Out> using Convolution = Conv2d<In, Out, KernelSize<3>, Padding<1>>;
struct Convnet
    : Sequential<Input<1, 28, 28>, Named<"conv1", Convolution<1, 12>>, ReLU, Named<"conv2", Convolution<12, 16>>, ReLU, MaxPool2d<KernelSize<2>>,
                 Named<"conv3", Convolution<16, 48>>, ReLU, MaxPool2d<KernelSize<2>>, Flatten, Named<"linear", Linear<48 * 7 * 7, 10>>> {};
static_assert(parameters<Convnet> == 12 * 9 + 12 + 16 * 12 * 9 + 16 + 48 * 16 * 9 + 48 + 2352 * 10 + 10);

inline constexpr int tokens = 256, length = 64, width = 64;
struct Attention : Residual<LayerNorm<width>, Linear<width, 3 * width>, SelfAttention<Heads<4>, Causal>, Linear<width, width>> {};
struct Feed : Residual<LayerNorm<width>, Linear<width, 4 * width>, GELU, Linear<4 * width, width>> {};
struct Block : Sequential<Named<"attention", Attention>, Named<"feed", Feed>> {};
struct Gpt : Sequential<Input<length>, Named<"wte", Embedding<tokens, width>>, Named<"wpe", LearnedPositions<length, width>>,
                        Named<"blocks", Repeat<3, Block>>, Named<"norm", LayerNorm<width>>, Named<"head", Linear<width, tokens, NoBias>>> {};

}  // namespace models
