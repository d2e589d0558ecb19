// SPDX-License-Identifier: MIT
// mistake: a plan without a policy
// expect: \[heddle\.L01\] A part of the plan is missing\.
// expect-g++: the plan names no policy\. Fix: add Single or another policy\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>>;
#endif

static_assert(sizeof(Trained) > 0);
