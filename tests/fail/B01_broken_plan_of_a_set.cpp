// SPDX-License-Identifier: MIT
// A set adds no second error to that of its plan.
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<63> does not divide by 2 ranks
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<64>;
#else
using Rows = Batch<63>;
#endif

template <class How> using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
using Any = PlanSet<Trained<Single>, Trained<DataParallel<2>>>;
static_assert(Any::index_of(2) == 1);
