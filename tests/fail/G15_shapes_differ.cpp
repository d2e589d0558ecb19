// SPDX-License-Identifier: MIT
// expect: \[heddle\.G15\] A layer cannot use the parameters of another\.
// expect-g++: `head` cannot use the parameters of `wte`: Linear<50, 64, NoBias> has weight \(64, 50\), but Linear<64, 50, NoBias> has
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Linear<64, 50, NoBias>;
#else
using Head = Linear<50, 64, NoBias>;
#endif

struct Model : Sequential<Named<"wte", Linear<64, 50, NoBias>>, Linear<50, Head::takes().shape.last()>, Tied<"head", Head, To<"wte">>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
