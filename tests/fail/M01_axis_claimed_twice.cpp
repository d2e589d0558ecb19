// SPDX-License-Identifier: MIT
// expect: \[heddle\.M01\] An axis is claimed twice\.
// expect-g++: axis data is claimed twice, with sizes 2 and 2\. Fix: keep one policy on axis data, of size 4\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = Hybrid<DataParallel<2>>;
#else
using Spread = Hybrid<DataParallel<2>, DataParallel<2>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Spread>;
static_assert(sizeof(Trained) > 0);
