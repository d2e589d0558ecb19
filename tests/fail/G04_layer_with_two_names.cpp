// SPDX-License-Identifier: MIT
// expect: \[heddle\.G04\] A name stands twice or cannot stand in a state_dict\.
// expect-g++: the layer named `a` in the model is named `x` too, but a state_dict has one name for it\. Fix: keep one of them, or put Sequential
// between both\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Named<"a", Sequential<Named<"x", Linear<784, 50>>>>;
#else
using First = Named<"a", Named<"x", Linear<784, 50>>>;
#endif

struct Mlp : Sequential<First, ReLU, Named<"b", Sequential<Named<"x", Linear<50, 10>>>>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
