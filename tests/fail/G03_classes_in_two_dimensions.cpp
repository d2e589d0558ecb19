// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: CrossEntropy takes one dimension, the classes, but the model gives \(10, 10\)\. Fix: end the model with Flatten and a Linear layer
// whose outputs are the classes\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Flatten;
#else
using Last = Unflatten<10, 10>;
#endif

struct Grid : Sequential<Linear<784, 100>, Last> {};
using Trained = Plan<Grid, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
