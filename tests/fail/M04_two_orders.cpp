// SPDX-License-Identifier: MIT
// expect: \[heddle\.M04\] A policy has a part that it does not know\.
// expect-g++: Pipeline names an order 2 times\. Fix: keep one of them\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
#else
using Cut = Pipeline<Balanced<2>, GPipe, OneFOneB, Microbatches<4>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
