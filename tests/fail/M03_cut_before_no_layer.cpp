// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: CutBefore names layer 4 as the first of stage 1, but Mlp has layers 0 to 3
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 50>, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using There = extending::CutBefore<3>;
#else
using There = extending::CutBefore<4>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<There, OneFOneB, Microbatches<4>>>;
static_assert(sizeof(Trained) > 0);
