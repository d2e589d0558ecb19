// SPDX-License-Identifier: MIT
// mistake: a layer with data members
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Swish is no layer: it has data members, but a layer is an empty description\. Fix: keep sizes as template parameters and state as
// parameters of the Leaf\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x);
  static float backward(float x, float gradient);

#ifdef HEDDLE_REPAIRED
  static constexpr float beta = 1;
#else
  float beta = 1;
#endif
};
static_assert(explain_layer<Swish>());
