// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 2 `2`: MaxPool2d<KernelSize<4>> has a window of 4 x 4 pixels but the value before it has \(6, 3, 5\)
// expect-g++: Fix: take a KernelSize of at most 3 and 5\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Second = MaxPool2d<KernelSize<3>>;
#else
using Second = MaxPool2d<KernelSize<4>>;
#endif
struct Net : Sequential<Input<6, 6, 10>, MaxPool2d<KernelSize<2>>, Second, Flatten, Linear<6, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
