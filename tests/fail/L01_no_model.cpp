// SPDX-License-Identifier: MIT
// expect: \[heddle\.L01\] A part of the plan is missing\.
// expect-g++: the plan names no model\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<CrossEntropy, Adam, Batch<64>, Single>;
#endif

static_assert(sizeof(Trained) > 0);
