// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: Losses read 10 \+ 4 = 14 outputs, but the model gives 12\. Fix: end the model with Branches<Concat, \.\.\.> of what they read, in their
// order,
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Angle = LossOf<"angle", Outputs<2>, MeanSquaredError>;
#else
using Angle = LossOf<"angle", Outputs<4>, MeanSquaredError>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 2>>> {};
using Trained = Plan<Mlp, Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, Angle>, Adam, Batch<64>, Single>;
static_assert(devices<Trained> == 1);
