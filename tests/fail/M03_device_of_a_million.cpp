// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: device 0 of 1,000,001 holds none of the 1 stages\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Where = On<0>;
#else
using Where = On<1'000'000>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Stage<Mlp, Where>>>;
static_assert(devices<Trained> == 1);
