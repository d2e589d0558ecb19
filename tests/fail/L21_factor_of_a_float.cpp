// SPDX-License-Identifier: MIT
// compilers: g++ clang++
// expect: \[heddle\.L21\] A factor of the learning rate is not above 0\.
// expect-g++: LearningRateFactor of `head` is no fraction of two ints\. Fix: write LearningRateFactor<.{1,2}head.{1,2}, 1, 10> for 0\.1\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Named<"head", Linear<50, 10>>> {};

#ifdef HEDDLE_REPAIRED
using Slow = LearningRateFactor<"head", 1, 10>;
#else
using Slow = LearningRateFactor<"head", 0.1>;
#endif
using Trained = Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single, Slow>;
static_assert(sizeof(Trained) > 0);
