// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: CrossEntropy takes at least 2 classes but the model gives 1\. Fix: give the last Linear layer one output per class; of one
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<50, 10>;
#else
using Last = Linear<50, 1>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Last> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
