// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `head` cannot use the parameters of `int`: it names no layer\. Fix: write To<`name`> with the name of an earlier layer\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Owner = To<"wte">;
#else
using Owner = int;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 64>>, GELU, Tied<"head", Linear<64, 64>, Owner>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
