// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `second` cannot use the parameters of `first`: that layer uses those of `wte` itself\. Fix: tie both to `wte`\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Owner = To<"wte">;
#else
using Owner = To<"first">;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 64>>, GELU, Tied<"first", Linear<64, 64>, To<"wte">>, GELU, Tied<"second", Linear<64, 64>, Owner>,
                          Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
