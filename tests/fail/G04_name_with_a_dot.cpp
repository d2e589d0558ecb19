// SPDX-License-Identifier: MIT
// expect: \[heddle\.G04\] A name stands twice or cannot stand in a state_dict\.
// expect-g++: the name `fc\.1` of layer 0 in the model cannot stand in a state_dict: it is empty or has a dot or a star\. Fix: use letters, digits
// and underscores\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Named<"fc1", Linear<784, 50>>;
#else
using First = Named<"fc.1", Linear<784, 50>>;
#endif

struct Mlp : Sequential<First, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
