// SPDX-License-Identifier: MIT
// torchtitan PR #2106, bigcode Megatron-LM #35: the gradient of an input that all ranks read is a term on each of them.
// expect: \[heddle\.P03\] A layer states a signature that cannot be\.
// expect-g++: signature 0 of layer 0 `0` Heads gives a gradient of its input that is Replicate, but each rank has a term of it from its own part\.
// Fix: give it as Partial\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
inline constexpr auto gradient = laid::partial;
#else
inline constexpr auto gradient = laid::replicate;
#endif

struct Heads {
  static constexpr Spec takes() { return Spec{Shape{784}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Heads";
    leaf.spelled << "Heads";
    leaf.in = in;
    leaf.out = Spec{Shape{64}};
    leaf.with({"weight", Shape{64, 784}, Initial::uniform_fan_in, 784});
    return leaf.splits(Signature{laid::replicate, laid::shard(0), gradient, laid::shard(0), {}, {}}.with(0, laid::shard(0), laid::shard(0)));
  }
};
struct Mlp : Sequential<Heads, ReLU, Linear<64, 10>> {};

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
