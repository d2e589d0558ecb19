// SPDX-License-Identifier: MIT
// expect: \[heddle\.S07\] The schedule is too long for a constant expression\.
// expect-g++: 2 chunks x 1000 micro-batches make 4000 computes, but at most 3000 of 2 chunks are scheduled at build\. Fix: use fewer micro-batches
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<10>>;
#else
using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<1000>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<1000>, Cut>;
static_assert(sizeof(Trained) > 0);
