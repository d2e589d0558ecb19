// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: Pipeline names 2 stages and Balanced<2> as well\. Fix: keep one of them\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Tail = Linear<50, 10>;
struct Mlp : Sequential<Head, Tail> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<Head>, Stage<Tail>>;
#else
using Cut = Pipeline<Stage<Head>, Stage<Tail>, Balanced<2>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
