// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: AvgPool2d<Stride<2>> does not say how large its window is\. Fix: write AvgPool2d<KernelSize<2>>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Pooling = AvgPool2d<KernelSize<2>>;
#else
using Pooling = AvgPool2d<Stride<2>>;
#endif
struct Net : Sequential<Input<6, 4, 4>, Pooling, Flatten, Linear<24, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
