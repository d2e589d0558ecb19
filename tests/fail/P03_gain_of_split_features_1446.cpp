// SPDX-License-Identifier: MIT
// Megatron-LM #1446: gradients of whole parameters of split values were left unreduced, and the copies drifted apart.
// expect: \[heddle\.P03\] A layer states a signature that cannot be\.
// expect-g++: signature 0 of layer 1 `1` Gain states parameter `gain` Replicate and its gradient Replicate, but each rank sees its own part of the
// values, so what it has is a term\. Fix: state the gradient Partial\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
inline constexpr auto gradient = laid::partial;
#else
inline constexpr auto gradient = laid::replicate;
#endif

struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    leaf.with({"gain", Shape{1}, Initial::ones});
    const auto features = laid::shard(0);
    return leaf.splits(Signature{features, features, features, features, {}, {}}.with(0, laid::replicate, gradient));
  }
};
struct Mlp : Sequential<Linear<784, 64>, Gain, Linear<64, 10>> {};

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
