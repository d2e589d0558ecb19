// SPDX-License-Identifier: MIT
// expect: \[heddle\.B04\] Sums cannot be reproducible with these counts\.
// expect-g++: sums are to be reproducible, but the number of grains per rank is 3, which is no power of two, while 2 ranks split the batch\. Fix:
// make that number a power of two, or drop Grain and Reproducible\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Slice = Grain<24>;
#else
using Slice = Grain<8>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<48>, DataParallel<2>, Slice>;
static_assert(sizeof(Trained) > 0);
