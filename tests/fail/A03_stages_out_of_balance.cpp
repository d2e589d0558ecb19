// SPDX-License-Identifier: MIT
// expect: \[heddle\.A03\] Stages are out of balance\.
// expect-g++: so the 2 stages wait for the slowest [0-9]* % of the time; the slowest of Balanced<2> has [0-9,]*\. Fix: use fewer stages, or smaller
// layers than layer 0
#include "heddle/heddle.hpp"

using namespace heddle;

struct Head : Sequential<Linear<64, 64>, ReLU> {};

#ifdef HEDDLE_REPAIRED
struct Tail : Sequential<Linear<64, 64>> {};
#else
struct Tail : Sequential<Linear<64, 8>> {};
#endif

struct Mlp : Sequential<Head, Tail> {};
using Rows = Batch<64>;
using How = Pipeline<Stage<Head>, Stage<Tail>, OneFOneB, Microbatches<4>>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained>());
