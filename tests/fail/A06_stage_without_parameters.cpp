// SPDX-License-Identifier: MIT
// expect: \[heddle\.A06\] A stage has no parameters\.
// expect-g++: stage 1 holds no parameters, only ReLU\. Fix: join it with a neighbouring stage\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<64, 64>, ReLU, Linear<64, 64>> {};

#ifdef HEDDLE_REPAIRED
using How = Pipeline<Stage<Linear<64, 64>>, Stage<Sequential<ReLU, Linear<64, 64>>>, OneFOneB, Microbatches<4>>;
#else
using How = Pipeline<Stage<Linear<64, 64>>, Stage<ReLU>, Stage<Linear<64, 64>>, OneFOneB, Microbatches<4>>;
#endif

using Rows = Batch<64>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained, extending::AdviceLimits{.imbalance_percent = 100, .bubble_percent = 60}>());
