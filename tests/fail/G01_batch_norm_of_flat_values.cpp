// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 1 `1`: BatchNorm2d<3> takes images, of channels, height and width, but the value before it has \(12\)\.
// expect-g++: Fix: put Unflatten before it, or LayerNorm<12> in its place\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3>, Flatten, Linear<12, 4>> {};
#else
struct Net : Sequential<Linear<4, 12>, BatchNorm2d<3>, Flatten, Linear<12, 4>> {};
#endif
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
