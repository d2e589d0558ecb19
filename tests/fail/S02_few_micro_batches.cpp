// SPDX-License-Identifier: MIT
// expect: \[heddle\.S02\] There are fewer micro-batches than stages\.
// expect-g++: 1F1B over 4 stages has 2 micro-batches, so some stages are always idle\. Fix: name Microbatches<4> or more, or FewMicrobatches if that
// is meant\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Middle = Linear<50, 20>;
using Tail = Linear<20, 10>;
struct Mlp : Sequential<Head, Middle, Tail> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>;
#else
using Cut = Pipeline<Balanced<4>, OneFOneB, Microbatches<2>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
