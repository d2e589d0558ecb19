// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: Interleaved takes the 2 devices in turn, each with 2 stages, but the 4 stages lie otherwise\. Fix: put stage c on the device of stage c
// mod 2, or use OneFOneB
#include "heddle/heddle.hpp"

using namespace heddle;

using First = Linear<784, 50>;
using Second = ReLU;
using Third = Linear<50, 20>;
using Fourth = Linear<20, 10>;
struct Mlp : Sequential<First, Second, Third, Fourth> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, Stage<Fourth, On<1>>, Interleaved<2>, Microbatches<4>>;
#else
using Cut = Pipeline<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<1>>, Stage<Fourth, On<0>>, Interleaved<2>, Microbatches<4>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
