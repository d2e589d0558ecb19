// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: its takes does not give a Spec\. Fix: declare it static constexpr Spec takes\(\)\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
#ifdef HEDDLE_REPAIRED
  static constexpr Spec takes() { return Spec{Shape{784}}; }
#else
  static constexpr Shape takes() { return Shape{784}; }
#endif
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x);
  static float backward(float x, float gradient);
};
struct Mlp : Sequential<Swish, Linear<784, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
