// SPDX-License-Identifier: MIT
// expect: \[heddle\.M05\] A sharded axis has a size that does not cut units evenly\.
// expect-g++: axis shard has size 3, but units are cut into 64 even parts\. Fix: use 2 or 4
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = Hybrid<Sharded<4>, DataParallel<3>>;
#else
using Spread = Hybrid<Sharded<3>, DataParallel<4>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<96>, Spread>;
static_assert(sizeof(Trained) > 0);
