// SPDX-License-Identifier: MIT
// expect: \[heddle\.G19\] A layer has more parameters, signatures or dimensions than are kept\.
// expect-g++: layer 1 `1`: Own has 9 parameters, but at most 4 are kept\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr int count = 0;
#else
constexpr int count = 9;
#endif

struct Own {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Own";
    leaf.spelled << "Own";
    leaf.in = leaf.out = in;
    leaf.parameter_count = count;
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Own, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
