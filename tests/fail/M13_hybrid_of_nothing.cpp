// SPDX-License-Identifier: MIT
// expect: \[heddle\.M13\] A Hybrid combines what is no policy\.
// expect-g++: a Hybrid of nothing combines no policies\. Fix: name policies in it, or use Single\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using How = Hybrid<DataParallel<2>>;
#else
using How = Hybrid<>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, How>;
static_assert(devices<Trained> == 2);
