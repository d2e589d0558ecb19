// SPDX-License-Identifier: MIT
// expect: \[heddle\.L02\] A part of the plan is named twice\.
// expect-g++: the plan names its Batch twice: Batch<64> and Batch<32>
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Batch<32>, Single>;
#endif

static_assert(sizeof(Trained) > 0);
