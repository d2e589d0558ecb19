// SPDX-License-Identifier: MIT
// expect: \[heddle\.S02\] There are fewer micro-batches than stages\.
// expect-g++: ZeroBubbleH1 over 3 stages has 2 micro-batches, so some stages are always idle\. Fix: name Microbatches<3> or more
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, Linear<50, 20>, Linear<20, 10>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<2>, FewMicrobatches>;
#else
using Cut = Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<2>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
