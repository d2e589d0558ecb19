// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 1 `1`: Conv2d<3, 8, KernelSize<3>> takes 3 channels but the value before it has 1 in the first dimension of \(1, 28, 28\)
// expect-g++: Fix: write Conv2d<1, 8, KernelSize<3>>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Conv2d<1, 8, KernelSize<3>>;
#else
using First = Conv2d<3, 8, KernelSize<3>>;
#endif
struct Net : Sequential<Input<1, 28, 28>, First, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<8, 10>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
