// SPDX-License-Identifier: MIT
// expect: \[heddle\.G19\] A layer has more parameters, signatures or dimensions than are kept\.
// expect-g++: layer 1 `1`: Gate states 5 signatures, but at most 4 are kept\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr int ways = 4;
#else
constexpr int ways = 5;
#endif

struct Gate {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gate";
    leaf.spelled << "Gate";
    leaf.in = leaf.out = in;
    for (int i = 0; i < ways; ++i) leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}});
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Gate, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
