// SPDX-License-Identifier: MIT
// expect: \[heddle\.A01\] The batch is small for the devices\.
// expect-g++: Batch<16> over 8 ranks leaves 2 rows for each product
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<64, 64>, ReLU, Linear<64, 64>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<32>;
#else
using Rows = Batch<16>;
#endif

using How = DataParallel<8>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How>;
static_assert(extending::require_no_advice<Trained>());
