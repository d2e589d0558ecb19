// SPDX-License-Identifier: MIT
// Advice that is asked for as errors adds none to that of a broken plan.
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<63> does not divide by 4 ranks
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<64>;
#else
using Rows = Batch<63>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<4>>;
static_assert(extending::require_no_advice<Trained>());
