// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 1 `1`: Take7 takes \(7\) but the value before it has \(4\)\. Fix: give it what it takes, or let its describe say leaf\.in = in\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr std::int64_t features = 4;
#else
constexpr std::int64_t features = 7;
#endif

struct Take7 {
  static constexpr Leaf describe(Spec) {
    Leaf leaf;
    leaf.kind << "Take7";
    leaf.spelled << "Take7";
    leaf.in = Spec{Shape{features}};
    leaf.out = Spec{Shape{4}};
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Take7, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
