// SPDX-License-Identifier: MIT
// expect: \[heddle\.S07\] The schedule is too long for a constant expression\.
// expect-g++: 2 chunks x 2000 micro-batches make 24,000 instructions, at most 21,000 are checked at build\. Fix: use at most 1750 micro-batches
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<100>>;
#else
using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<2000>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<2000>, Cut>;
static_assert(sizeof(Trained) > 0);
