// SPDX-License-Identifier: MIT
// expect: \[heddle\.L04\] A set of plans cannot choose\.
// expect-g++: plans 1 and 2 of the set both have 2 devices, so the number of ranks does not choose\. Fix: keep one of them
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
template <class How> using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, How>;

#ifdef HEDDLE_REPAIRED
using Third = Trained<DataParallel<4>>;
#else
using Third = Trained<Pipeline<Balanced<2>>>;
#endif

using Any = PlanSet<Trained<Single>, Trained<DataParallel<2>>, Third>;
static_assert(Any::index_of(2) == 1);
