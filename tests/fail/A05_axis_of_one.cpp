// SPDX-License-Identifier: MIT
// expect: \[heddle\.A05\] An axis has size 1\.
// expect-g++: axis data has size 1, so its policy splits nothing\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<64, 64>, ReLU, Linear<64, 64>> {};

#ifdef HEDDLE_REPAIRED
using How = DataParallel<2>;
#else
using How = DataParallel<1>;
#endif

using Rows = Batch<64>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained>());
