// SPDX-License-Identifier: MIT
// expect: \[heddle\.B02\] The batch is smaller than the ranks and micro-batches that split it\.
// expect-g++: Batch<0> leaves nothing to compute\. Fix: give it at least 1\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<1>;
#else
using Rows = Batch<0>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, Single>;
static_assert(sizeof(Trained) > 0);
