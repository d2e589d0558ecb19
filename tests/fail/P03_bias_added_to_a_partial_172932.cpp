// SPDX-License-Identifier: MIT
// pytorch #172932: a bias that every rank adds to its term of the sum counts once for each of them.
// expect: \[heddle\.P03\] A layer states a signature that cannot be\.
// expect-g++: signature 0 of layer 2 `2` Product states parameter `bias` Replicate and adds it to an output that is Partial, so the sum would hold it
// once for each rank\. Fix: state it Partial \(one rank adds it\), or split it\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
inline constexpr auto used = laid::partial;
#else
inline constexpr auto used = laid::replicate;
#endif

struct Product {
  static constexpr Spec takes() { return Spec{Shape{64}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Product";
    leaf.spelled << "Product";
    leaf.in = in;
    leaf.out = Spec{Shape{10}};
    leaf.with({"weight", Shape{10, 64}, Initial::uniform_fan_in, 64}).with({"bias", Shape{10}, Initial::zeros});
    return leaf.splits(Signature{laid::shard(0), laid::partial, laid::shard(0), laid::replicate, {}, {}}
                           .with(0, laid::shard(1), laid::shard(1))
                           .with(1, used, laid::replicate));
  }
};
struct Mlp : Sequential<Linear<784, 64>, ReLU, Product> {};

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
