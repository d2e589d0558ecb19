// SPDX-License-Identifier: MIT
// expect: \[heddle\.G04\] A name stands twice or cannot stand in a state_dict\.
// expect-g++: layer 1 `1`: Gain has a parameter named `a\.b`, which cannot stand in a state_dict
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr const char* name = "a_b";
#else
constexpr const char* name = "a.b";
#endif

struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    return leaf.with({name, in.shape, Initial::ones});
  }
};
struct Net : Sequential<Linear<4, 4>, Gain, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
