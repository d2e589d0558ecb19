// SPDX-License-Identifier: MIT
// expect: \[heddle\.L03\] Something in the plan is no part of a plan\.
// expect-g++: is no part of a Plan by itself\. Fix: write it inside Losses<\.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Digit = LossOf<"digit", Outputs<10>, CrossEntropy>;
using Angle = LossOf<"angle", Outputs<2>, MeanSquaredError>;
struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 2>>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, Losses<Digit, Angle>, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, Digit, Angle, Adam, Batch<64>, Single>;
#endif

static_assert(devices<Trained> == 1);
