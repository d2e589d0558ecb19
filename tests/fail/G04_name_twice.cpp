// SPDX-License-Identifier: MIT
// expect: \[heddle\.G04\] A name stands twice or cannot stand in a state_dict\.
// expect-g++: the name `hidden` stands twice in the model: as layer 0 and as layer 2\. Fix: rename one of them\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Named<"output", Linear<50, 10>>;
#else
using Last = Named<"hidden", Linear<50, 10>>;
#endif

struct Mlp : Sequential<Named<"hidden", Linear<784, 50>>, ReLU, Last> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
