// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: a balanced cut into 4,294,967,294 needs 4,294,967,293 cuts
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Order = Interleaved<1>;
#else
using Order = Interleaved<2'147'483'647>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, Order, Microbatches<4>>>;
static_assert(devices<Trained> == 2);
