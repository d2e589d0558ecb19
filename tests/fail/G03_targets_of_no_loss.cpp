// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: `early` of Losses has the targets of `digits`, which is no earlier loss with targets of its own\. Fix: name one that is\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Early = LossOf<"early", Outputs<10>, CrossEntropy, TargetsOf<"digit">, LossWeight<3, 10>>;
#else
using Early = LossOf<"early", Outputs<10>, CrossEntropy, TargetsOf<"digits">, LossWeight<3, 10>>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 10>>> {};
using Trained = Plan<Mlp, Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, Early>, Adam, Batch<64>, Single>;
static_assert(devices<Trained> == 1);
