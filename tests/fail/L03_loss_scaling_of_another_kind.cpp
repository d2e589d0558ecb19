// SPDX-License-Identifier: MIT
// expect: \[heddle\.L03\]
// expect-g++: LossScaling<float> is no part of a Plan\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Scaled = LossScaling<Dynamic>;
#else
using Scaled = LossScaling<float>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Scaled, Single>;
static_assert(sizeof(Trained) > 0);
