// SPDX-License-Identifier: MIT
// The model and the plans whose steps ./heddle timeline records: blocks of one width, so that stages of two blocks are nearly equal.
#pragma once

#include <heddle/heddle.hpp>

namespace timelines {

using namespace heddle;

struct Block : Sequential<Linear<512, 512>, ReLU> {};
struct Deep : Sequential<Linear<16, 512>, Repeat<8, Block>, Linear<512, 10>> {};
template <class Policy> using Of = Plan<Deep, CrossEntropy, SGD, Batch<256>, Policy>;
template <class Order> using Staged = Of<Pipeline<Balanced<4>, Order, Microbatches<8>>>;

using OneDevice = Of<Single>;
using Replicas = Of<DataParallel<4>>;
using Slices = Of<Sharded<4>>;
using Parts = Of<TensorParallel<4>>;
using AllForwards = Staged<GPipe>;
using InTurn = Staged<OneFOneB>;
using TwoChunks = Staged<Interleaved<2>>;
using SplitBackward = Staged<ZeroBubbleH1>;
using Both = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

}  // namespace timelines
