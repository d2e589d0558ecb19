// SPDX-License-Identifier: MIT
// expect: \[heddle\.M01\] An axis is claimed twice\.
// expect-g++: axis shard is claimed twice, with sizes 2 and 4\. Fix: keep one policy on axis shard, of size 8\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = Hybrid<Sharded<2>, DataParallel<4>>;
#else
using Spread = Hybrid<Sharded<2, OptimizerState>, Sharded<4>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Spread>;
static_assert(sizeof(Trained) > 0);
