// SPDX-License-Identifier: MIT
// expect: \[heddle\.L07\] The plan has no device of this number\.
// expect-g++: device<4> is not there: the plan has 4 devices, counted from 0\. Fix: ask about device<3> or one before it\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
constexpr auto last = device<3>;
#else
constexpr auto last = device<4>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
static_assert(peak_memory<Trained>(last) < 2_MB);
static_assert(peak_memory<Trained>(device<0>) < 2_MB);
