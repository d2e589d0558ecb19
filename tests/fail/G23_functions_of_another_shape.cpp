// SPDX-License-Identifier: MIT
// expect: \[heddle\.G23\] A description contradicts itself\.
// expect-g++: layer 1 `1`: Half is two functions of one float each, but makes \(2\) of \(4\)\. Fix: give the shape that it takes, or write a kernel
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Half {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Half";
    leaf.spelled << "Half";
    leaf.in = in;
#ifdef HEDDLE_REPAIRED
    leaf.out = in;
#else
    leaf.out = Spec{Shape{2}};
#endif
    return leaf;
  }
  static float forward(float x);
  static float backward(float x, float gradient);
};
struct Net : Sequential<Linear<4, 4>, Half, Flatten> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
