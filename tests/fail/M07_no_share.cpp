// SPDX-License-Identifier: MIT
// expect: \[heddle\.M07\] A replica has no share of the batch
// expect-g++: replica 1 has share 0 of the batch\. Fix: give every replica a share of at least 1, or leave it out\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = WeightedDataParallel<3, 1>;
#else
using Spread = WeightedDataParallel<3, 0>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Spread>;
static_assert(sizeof(Trained) > 0);
