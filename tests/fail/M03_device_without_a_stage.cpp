// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: device 1 of 3 holds none of the 2 stages\. Fix: number the devices 0, 1, 2, \.\.\. without a gap\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Tail = Linear<50, 10>;
struct Mlp : Sequential<Head, Tail> {};

#ifdef HEDDLE_REPAIRED
using There = On<1>;
#else
using There = On<2>;
#endif

using Cut = Pipeline<Stage<Head, On<0>>, Stage<Tail, There>>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
