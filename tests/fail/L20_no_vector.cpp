// SPDX-License-Identifier: MIT
// expect: \[heddle\.L20\] NoDecay and LearningRateFactor name what is not there\.
// expect-g++: Mlp has no parameter of fewer than two dimensions, so NoDecay<> means none\. Fix: name parameters
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10, NoBias>> {};
#else
struct Mlp : Sequential<Linear<784, 50, NoBias>, ReLU, Linear<50, 10, NoBias>> {};
#endif

using Trained = Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single, NoDecay<>>;
static_assert(sizeof(Trained) > 0);
