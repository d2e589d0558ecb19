// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: forward or backward has another signature\. Fix: declare static float forward\(float x\) and static float
// backward\(float x, float gradient\)\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x);

#ifdef HEDDLE_REPAIRED
  static float backward(float x, float gradient);
#else
  static float backward(float gradient);
#endif
};
struct Mlp : Sequential<Linear<784, 50>, Swish, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
