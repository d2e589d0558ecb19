// SPDX-License-Identifier: MIT
// expect: \[heddle\.B10\] A Batch says something else than how a smaller batch is taken\.
// expect-g++: Batch<64> names Grain<16>, which does not say how a smaller batch is taken\. Fix: write it beside the Batch, not in it\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<16>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64, Grain<16>>, Single>;
#endif

static_assert(devices<Trained> == 1);
