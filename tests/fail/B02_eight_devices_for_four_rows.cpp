// SPDX-License-Identifier: MIT
// expect: \[heddle\.B02\] The batch is smaller than the ranks and micro-batches that split it\.
// expect-g++: Batch<4>
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

// pytorch #9226: more devices than rows, so some of them never work.
#ifdef HEDDLE_REPAIRED
using Rows = Batch<16>;
#else
using Rows = Batch<4>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<8>>;
static_assert(sizeof(Trained) > 0);
