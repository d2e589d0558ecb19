// SPDX-License-Identifier: MIT
// expect: \[heddle\.L02\] A part of the plan is named twice\.
// expect-g++: the plan names its loss twice: CrossEntropy and MeanSquaredError
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, MeanSquaredError, Adam, Batch<64>, Single>;
#endif

static_assert(sizeof(Trained) > 0);
