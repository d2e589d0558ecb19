// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `head` cannot use the parameters of `wte`: that layer is frozen, but only one of both\. Fix: write both inside Frozen, or neither
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Table = Named<"wte", Linear<50, 50, NoBias>>;
#else
using Table = Frozen<Named<"wte", Linear<50, 50, NoBias>>>;
#endif

struct Model : Sequential<Table, Linear<50, 50>, Tied<"head", Linear<50, 50, NoBias>, To<"wte">>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
