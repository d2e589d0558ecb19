// SPDX-License-Identifier: MIT
// expect: \[heddle\.L05\] Recompute names what the model does not have\.
// expect-g++: Mlp has no Repeat and no OneUnit, so it has no blocks to run again\. Fix: name layers, as in Recompute<GELU>\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, Named<"act", ReLU>, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Again = Recompute<ReLU>;
#else
using Again = Recompute<EveryBlock>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single, Again>;
static_assert(sizeof(Trained) > 0);
