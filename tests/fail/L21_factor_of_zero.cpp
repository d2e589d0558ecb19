// SPDX-License-Identifier: MIT
// expect: \[heddle\.L21\] A factor of the learning rate is not above 0\.
// expect-g++: LearningRateFactor of `head` is 0 / 10, which is not above 0\. Fix: name a numerator and a denominator of at least 1, or Frozen<L> for
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Named<"head", Linear<50, 10>>> {};

#ifdef HEDDLE_REPAIRED
using Slow = LearningRateFactor<"head", 1, 10>;
#else
using Slow = LearningRateFactor<"head", 0, 10>;
#endif

using Trained = Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single, Slow>;
static_assert(sizeof(Trained) > 0);
