// SPDX-License-Identifier: MIT
// expect: \[heddle\.G23\] A description contradicts itself\.
// expect-g++: layer 1 `1`: Scaled is two functions of one float each, but has parameter `beta`, which they never see, so it would not be trained\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Scaled {
#ifdef HEDDLE_REPAIRED
  static constexpr Leaf describe(Spec in) { return elementwise("Scaled", in, 1); }
#else
  static constexpr Leaf describe(Spec in) { return elementwise("Scaled", in, 1).with({"beta", Shape{1}, Initial::ones}); }
#endif
  static float forward(float x);
  static float backward(float x, float gradient);
};
struct Net : Sequential<Linear<4, 4>, Scaled, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
