// SPDX-License-Identifier: MIT
// expect: \[heddle\.M12\] A stage does not name one device\.
// expect-g++: stage 1 is on int, which names no device\. Fix: write On<1>, or leave it out\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Where = On<1>;
#else
using Where = int;
#endif

struct Front : Sequential<Linear<784, 50>> {};
struct Back : Sequential<ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Stage<Front>, Stage<Back, Where>>>;
static_assert(devices<Trained> == 2);
