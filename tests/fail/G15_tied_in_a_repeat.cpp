// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `head` cannot use the parameters of `wte`: it is inside a Repeat or a OneUnit, but a tied layer is a unit of its own\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Tied<"head", Linear<64, 64>, To<"wte">>;
#ifdef HEDDLE_REPAIRED
using Heads = Sequential<Head>;
#else
using Heads = Repeat<1, Sequential<Head>>;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 64>>, GELU, Heads, Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
