// SPDX-License-Identifier: MIT
// expect: \[heddle\.A04\] Stages are idle for most of a step\.
// expect-g++: without an order micro-batches pass the 2 stages one at a time, so stages are idle 50 % of a step
#include "heddle/heddle.hpp"

using namespace heddle;

struct Head : Sequential<Linear<64, 64>, ReLU> {};
struct Tail : Sequential<Linear<64, 64>> {};
struct Mlp : Sequential<Head, Tail> {};

#ifdef HEDDLE_REPAIRED
using How = Pipeline<Stage<Head>, Stage<Tail>, OneFOneB, Microbatches<4>>;
#else
using How = Pipeline<Stage<Head>, Stage<Tail>>;
#endif

using Rows = Batch<64>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained>());
