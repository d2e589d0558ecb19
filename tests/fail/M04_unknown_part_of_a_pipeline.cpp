// SPDX-License-Identifier: MIT
// expect: \[heddle\.M04\] A policy has a part that it does not know\.
// expect-g++: DataParallel<2> is no part of a Pipeline\. Fix: use Stage<Part, On<D>>, Balanced<S>, an order, Microbatches<M> or FewMicrobatches\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>;
#else
using Cut = Pipeline<Balanced<2>, DataParallel<2>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
