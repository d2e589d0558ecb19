// SPDX-License-Identifier: MIT
// expect: \[heddle\.B02\] The batch is smaller than the ranks and micro-batches that split it\.
// expect-g++: Batch<4> is smaller than the 8 ranks that split it\. Fix: use a batch of at least 8 rows\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<8, KeepLast>;
#else
using Rows = Batch<4, KeepLast>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<8>>;
static_assert(sizeof(Trained) > 0);
