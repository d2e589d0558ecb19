// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: takes 40 features but the value before it has 50
#include "heddle/heddle.hpp"

using namespace heddle;

// DeepSpeed #5696: the next stage takes another shape than this one sends.
#ifdef HEDDLE_REPAIRED
using Back = Linear<50, 10>;
#else
using Back = Linear<40, 10>;
#endif

using Front = Sequential<Linear<784, 50>, ReLU>;
struct Mlp : Sequential<Front, Back> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Stage<Front>, Stage<Back>>>;
static_assert(sizeof(Trained) > 0);
