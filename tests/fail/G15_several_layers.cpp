// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `head` cannot use the parameters of `wte`: it has 2 layers, but single layers are tied\. Fix: tie each layer by itself\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Sequential<Tied<"head", Linear<64, 64>, To<"wte">>, GELU>;
#else
using Head = Tied<"head", Sequential<Linear<64, 64>, GELU>, To<"wte">>;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 64>>, Head, Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
