// SPDX-License-Identifier: MIT
// expect: \[heddle\.L20\] NoDecay and LearningRateFactor name what is not there\.
// expect-g++: Mlp has a parameter `head\.bias` of two factors, of `head` and of `bias`\. Fix: name the one that counts by more words
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Named<"head", Linear<50, 10>>> {};

#ifdef HEDDLE_REPAIRED
using Biases = LearningRateFactor<"head.bias", 2>;
#else
using Biases = LearningRateFactor<"bias", 2>;
#endif

using Trained = Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single, LearningRateFactor<"head", 1, 10>, Biases>;
static_assert(sizeof(Trained) > 0);
