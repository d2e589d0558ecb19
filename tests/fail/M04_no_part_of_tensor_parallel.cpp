// SPDX-License-Identifier: MIT
// expect: \[heddle\.M04\] A policy has a part that it does not know\.
// expect-g++: int is no part of TensorParallel\. Fix: use SequenceParallel, or nothing\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using How = TensorParallel<2, SequenceParallel>;
#else
using How = TensorParallel<2, int>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, How>;
static_assert(devices<Trained> == 2);
