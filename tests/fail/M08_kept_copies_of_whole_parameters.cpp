// SPDX-License-Identifier: MIT
// expect: \[heddle\.M08\] Nothing is gathered that could be kept\.
// expect-g++: Sharded is to keep gathered parameters, but slices only gradients and optimizer states, .* Fix: name Parameters, or drop Keep\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Sliced = Parameters;
#else
using Sliced = Gradients;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Sharded<4, Sliced, Keep::Step>>;
static_assert(sizeof(Trained) > 0);
