// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: its describe cannot be called at build\. Fix: declare it static constexpr, and let it call constexpr functions
// only\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
#ifdef HEDDLE_REPAIRED
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
#else
  static Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
#endif
  static float forward(float x);
  static float backward(float x, float gradient);
};
struct Mlp : Sequential<Linear<784, 50>, Swish, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;
static_assert(sizeof(Trained) > 0);
