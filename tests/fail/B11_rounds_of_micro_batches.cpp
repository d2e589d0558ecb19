// SPDX-License-Identifier: MIT
// expect: \[heddle\.B11\] The counts of a batch are too large\.
// expect-g++: Batch<64> is split by 65,536 rounds x 65,536 micro-batches, more parts than the 2,147,483,647 rows that a batch may have\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
constexpr int many = 4;
#else
constexpr int many = 65'536;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Accumulate<many>, Pipeline<Balanced<2>, OneFOneB, Microbatches<many>>>;
static_assert(devices<Trained> == 2);
