// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\]
// expect-g++: `b` cannot use the parameters of `a`: BatchNorm2d<4> tracks what its own rows have, which two layers cannot share\.
// expect-g++: Fix: give each layer parameters of its own\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Second = Named<"b", BatchNorm2d<4>>;
#else
using Second = Tied<"b", BatchNorm2d<4>, To<"a">>;
#endif
struct Net : Sequential<Input<4, 2, 2>, Named<"a", BatchNorm2d<4>>, ReLU, Second, Flatten, Linear<16, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
