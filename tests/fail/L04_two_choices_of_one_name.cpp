// SPDX-License-Identifier: MIT
// expect: \[heddle\.L04\] A set of plans cannot choose\.
// expect-g++: plans 0 and 1 of the set are both named `stages`, so the name does not choose\. Fix: give each a name of its own\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
template <class How> using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, How>;

#ifdef HEDDLE_REPAIRED
using Second = Choice<"replicas", Trained<DataParallel<2>>>;
#else
using Second = Choice<"stages", Trained<DataParallel<2>>>;
#endif

using Any = PlanSet<Choice<"stages", Trained<Pipeline<Balanced<2>>>>, Second>;
static_assert(Any::index_of("stages") == 0 && Any::index_of(2) == -1);
