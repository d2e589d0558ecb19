// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\]
// expect-g++: MaxPool2d<KernelSize<3>, Padding<2>> has a padding of 2 for a window of 3\. Fix: take from 0 to 1
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Sides = Padding<1>;
#else
using Sides = Padding<2>;
#endif
struct Net : Sequential<Input<6, 4, 4>, MaxPool2d<KernelSize<3>, Sides>, AvgPool2d<KernelSize<2>, Stride<1>>, Flatten, Linear<6, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
