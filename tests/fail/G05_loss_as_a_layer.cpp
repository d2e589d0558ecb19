// SPDX-License-Identifier: MIT
// mistake: a loss inside `Sequential<...>`
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: CrossEntropy is no layer: it is a loss\. Fix: name it in the Plan, beside the model\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
#else
struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>, CrossEntropy> {};
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Trained> == 1);
