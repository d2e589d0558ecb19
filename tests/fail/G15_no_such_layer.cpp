// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: no layer of this name stands before it, outside of Repeat and OneUnit\. Fix: write the whole name of an earlier layer\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Owner = To<"wte">;
#else
using Owner = To<"embedding">;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 64>>, GELU, Tied<"head", Linear<64, 64>, Owner>, Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
