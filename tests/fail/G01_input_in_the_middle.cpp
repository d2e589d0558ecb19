// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 1 `1`: Input<50> is given \(40\)\. Fix: let Input be the first layer only\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Linear<784, 50>;
#else
using First = Linear<784, 40>;
#endif

struct Mlp : Sequential<First, Input<50>, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
