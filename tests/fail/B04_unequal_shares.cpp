// SPDX-License-Identifier: MIT
// expect: \[heddle\.B04\] Sums cannot be reproducible with these counts\.
// expect-g++: the 2 replicas take unequal shares of the batch\. Fix: use DataParallel<2>, or drop Grain and Reproducible\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Spread = DataParallel<2>;
#else
using Spread = WeightedDataParallel<3, 1>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Reproducible, Spread>;
static_assert(sizeof(Trained) > 0);
