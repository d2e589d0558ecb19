// SPDX-License-Identifier: MIT
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<64> does not divide by 6 micro-batches\. Fix: use 60 or 66 rows, or name DropLast, PadLast or KeepLast\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<66>;
#else
using Rows = Batch<64>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, Pipeline<Balanced<2>, OneFOneB, Microbatches<6>>>;
static_assert(sizeof(Trained) > 0);
