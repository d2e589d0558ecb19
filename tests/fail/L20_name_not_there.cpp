// SPDX-License-Identifier: MIT
// expect: \[heddle\.L20\] NoDecay and LearningRateFactor name what is not there\.
// expect-g++: Mlp has no parameter of the name `haed`\. Fix: use words of a name such as `0\.weight`\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Named<"head", Linear<50, 10>>> {};

#ifdef HEDDLE_REPAIRED
using Spared = NoDecay<"head">;
#else
using Spared = NoDecay<"haed">;
#endif

using Trained = Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single, Spared>;
static_assert(sizeof(Trained) > 0);
