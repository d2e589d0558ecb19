// SPDX-License-Identifier: MIT
// mistake: two policies side by side
// expect: \[heddle\.L02\] A part of the plan is named twice\.
// expect-g++: the plan names its policy twice: Pipeline<Balanced<2> > and DataParallel<2>\. Fix: combine them as Hybrid<Pipeline<Balanced<2>
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

// Two policies are one Hybrid.
#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>>, DataParallel<2>>;
#endif

static_assert(sizeof(Trained) > 0);
