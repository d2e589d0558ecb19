// SPDX-License-Identifier: MIT
// expect: \[heddle\.A08\] Much of what is reduced is padding\.
// expect-g++: [0-9]* % of the 8192 bytes of gradients that are reduced are padding
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<8, 6>, ReLU, Linear<6, 3>> {};

#ifdef HEDDLE_REPAIRED
using How = Single;
#else
using How = DataParallel<2>;
#endif

using Rows = Batch<64>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained>());
