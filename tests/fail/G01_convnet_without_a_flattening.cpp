// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: Linear<200704, 10> takes 200,704 features but the value before it has 56 in the last dimension of \(64, 56, 56\)\. Fix: put Flatten
#include "heddle/heddle.hpp"

using namespace heddle;

struct Front : Sequential<Input<3, 224, 224>, Conv2d<3, 64, KernelSize<7>, Stride<2>, Padding<3>>, ReLU, MaxPool2d<KernelSize<2>>> {};
#ifdef HEDDLE_REPAIRED
struct Head : Sequential<Flatten, Linear<64 * 56 * 56, 10>> {};
#else
struct Head : Sequential<Linear<64 * 56 * 56, 10>> {};
#endif
struct Pictures : Sequential<Front, Head> {};
using Cut = Plan<Pictures, CrossEntropy, SGD, Batch<16>, Pipeline<Stage<Front, On<0>>, Stage<Head, On<1>>>>;
static_assert(sizeof(Cut) > 0);
