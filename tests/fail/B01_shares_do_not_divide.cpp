// SPDX-License-Identifier: MIT
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<62> does not divide by 2 ranks with unequal shares\. Fix: use 60 or 64 rows
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<64>;
#else
using Rows = Batch<62>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, WeightedDataParallel<3, 1>>;
static_assert(sizeof(Trained) > 0);
