// SPDX-License-Identifier: MIT
// expect: \[heddle\.L03\] Something in the plan is no part of a plan\.
// expect-g++: Microbatches<4> is no part of a Plan by itself\. Fix: write it inside Pipeline<\.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB>, Microbatches<4>>;
#endif

static_assert(devices<Trained> == 2);
