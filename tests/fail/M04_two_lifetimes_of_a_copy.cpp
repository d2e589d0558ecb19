// SPDX-License-Identifier: MIT
// expect: \[heddle\.M04\] A policy has a part that it does not know\.
// expect-g++: Sharded names Keep 2 times\. Fix: keep one of them\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Sharded<4, Keep::Step>>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Sharded<4, Keep::Pass, Keep::Step>>;
#endif
static_assert(sizeof(Trained) > 0);
