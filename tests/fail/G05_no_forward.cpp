// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: it has backward but no forward\. Fix: add static float forward\(float x\)\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float backward(float x, float gradient);

#ifdef HEDDLE_REPAIRED
  static float forward(float x);
#else
  static float value(float x);
#endif
};
struct Mlp : Sequential<Linear<784, 50>, Swish, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
