// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: ZeroBubbleH1 takes the 2 devices in turn, each with 1 stage, but the 3 stages lie otherwise\.
#include "heddle/heddle.hpp"

using namespace heddle;

using First = Linear<784, 50>;
using Second = Linear<50, 20>;
using Third = Linear<20, 10>;
struct Mlp : Sequential<First, Second, Third> {};

#ifdef HEDDLE_REPAIRED
using There = On<2>;
#else
using There = On<0>;
#endif

using Cut = Pipeline<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, There>, ZeroBubbleH1, Microbatches<4>>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
