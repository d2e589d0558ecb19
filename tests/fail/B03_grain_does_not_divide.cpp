// SPDX-License-Identifier: MIT
// expect: \[heddle\.B03\] The grain does not divide a micro-batch\.
// expect-g++: Grain<12> does not divide the 32 rows of a micro-batch\. Fix: use a grain that divides 32\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Slice = Grain<8>;
#else
using Slice = Grain<12>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<2>, Slice>;
static_assert(sizeof(Trained) > 0);
