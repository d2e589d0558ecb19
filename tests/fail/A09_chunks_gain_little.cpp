// SPDX-License-Identifier: MIT
// expect: \[heddle\.A09\] Chunks in turn gain little\.
// expect-g++: Interleaved<2> sends 96 messages between stages in a step where OneFOneB would send 32
#include "heddle/heddle.hpp"

using namespace heddle;

struct Deep : Repeat<4, Linear<64, 64>> {};
using Rows = Batch<64>;
#ifdef HEDDLE_REPAIRED
using Order = OneFOneB;
#else
using Order = Interleaved<2>;
#endif
using Trained = Plan<Deep, CrossEntropy, Adam, Rows, Pipeline<Balanced<2>, Order, Microbatches<16>>>;
static_assert(extending::require_no_advice<Trained>());
