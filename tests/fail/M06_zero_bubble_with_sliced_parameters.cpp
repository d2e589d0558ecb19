// SPDX-License-Identifier: MIT
// expect: \[heddle\.M06\] Two policies do not mix\.
// expect-g++: ZeroBubbleH1 makes gradients of parameters apart from the backward, but axis shard of size 2 slices parameters, which are gathered and
// reduced within one\. Fix: use Sharded<2, OptimizerState>, or OneFOneB\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, Linear<50, 20>, Linear<20, 10>> {};

#ifdef HEDDLE_REPAIRED
using Sliced = Sharded<2, OptimizerState>;
#else
using Sliced = Sharded<2>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sliced>>;
static_assert(sizeof(Trained) > 0);
