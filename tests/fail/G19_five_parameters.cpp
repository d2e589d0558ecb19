// SPDX-License-Identifier: MIT
// expect: \[heddle\.G19\] A layer has more parameters, signatures or dimensions than are kept\.
// expect-g++: layer 1 `1`: Gate has 5 parameters, but at most 4 are kept\. Fix: make two layers of it, or join parameters\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr int gates = 4;
#else
constexpr int gates = 5;
#endif

struct Gate {
  static constexpr Leaf describe(Spec in) {
    constexpr const char* names[] = {"in", "forget", "cell", "out", "peephole"};
    Leaf leaf;
    leaf.kind << "Gate";
    leaf.spelled << "Gate";
    leaf.in = leaf.out = in;
    for (int i = 0; i < gates; ++i) leaf.with({names[i], in.shape, Initial::ones});
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Gate, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
