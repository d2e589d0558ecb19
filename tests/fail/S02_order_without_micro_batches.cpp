// SPDX-License-Identifier: MIT
// expect: \[heddle\.S02\] There are fewer micro-batches than stages\.
// expect-g++: GPipe over 2 stages has 1 micro-batch, so some stages are always idle\. Fix: name Microbatches<2> or more, or FewMicrobatches if that
// is meant\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<2>, GPipe, FewMicrobatches>;
#else
using Cut = Pipeline<Balanced<2>, GPipe>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
