// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 5 `5`: Linear<288, 10> takes 288 features but the value before it has 1352
// expect-g++: Fix: write Linear<1352, 10>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<8 * 13 * 13, 10>;
#else
using Last = Linear<288, 10>;
#endif
struct Net : Sequential<Input<1, 28, 28>, Conv2d<1, 8, KernelSize<3>>, ReLU, MaxPool2d<KernelSize<2>>, Flatten, Last> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
