// SPDX-License-Identifier: MIT
// expect: \[heddle\.M02\] An axis has no size\.
// expect-g++: axis data has size 0\. Fix: use a size of at least 1\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = DataParallel<1>;
#else
using Spread = DataParallel<0>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Spread>;
static_assert(sizeof(Trained) > 0);
