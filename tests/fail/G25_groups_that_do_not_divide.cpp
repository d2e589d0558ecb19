// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\]
// expect-g++: layer 1 `1`: Conv2d<8, 12, KernelSize<3>, Groups<3>> has Groups<3>, which does not divide 8 and 12 channels
// expect-g++: Fix: take 1, 2, 4 groups\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Grouped = Conv2d<8, 12, KernelSize<3>, Groups<4>>;
#else
using Grouped = Conv2d<8, 12, KernelSize<3>, Groups<3>>;
#endif
struct Net : Sequential<Input<8, 5, 5>, Grouped, Flatten, Linear<108, 10>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
