// SPDX-License-Identifier: MIT
// expect: \[heddle\.L03\] Something in the plan is no part of a plan\.
// expect-g++: int is no part of a Plan\. Fix: remove it; a Plan takes a model, a loss, an optimizer, Batch<B>, a policy and options\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single, int>;
#endif

static_assert(sizeof(Trained) > 0);
