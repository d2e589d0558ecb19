// SPDX-License-Identifier: MIT
// expect: \[heddle\.S02\] There are fewer micro-batches than stages\.
// expect-g++: a pipeline of 0 micro-batches does nothing\. Fix: Microbatches<1> or more\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Micro = Microbatches<2>;
#else
using Micro = Microbatches<0>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Micro>>;
static_assert(devices<Trained> == 2);
