// SPDX-License-Identifier: MIT
// expect: \[heddle\.M13\] A Hybrid combines what is no policy\.
// expect-g++: Accumulate<2> is no policy, so a Hybrid cannot combine it\. Fix: move it out of the Hybrid; options of a plan stand beside its policy\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Accumulate<2>, Hybrid<DataParallel<2>>>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Hybrid<DataParallel<2>, Accumulate<2>>>;
#endif

static_assert(devices<Trained> == 2);
