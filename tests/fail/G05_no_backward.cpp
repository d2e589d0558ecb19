// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: it has forward but no backward\. Fix: add static float backward\(float x, float gradient\)\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x);

#ifdef HEDDLE_REPAIRED
  static float backward(float x, float gradient);
#else
  static float derivative(float x, float gradient);
#endif
};
static_assert(explain_layer<Swish>());
