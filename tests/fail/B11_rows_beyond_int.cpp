// SPDX-License-Identifier: MIT
// expect: \[heddle\.B11\] The counts of a batch are too large\.
// expect-g++: Batch<2,147,483,647> in equal parts of whole grains needs room for 2,147,483,648 rows, at most 2,147,483,647 are counted\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<2'000'000'000, KeepLast>;
#else
using Rows = Batch<2'147'483'647, KeepLast>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<4>>;
static_assert(devices<Trained> == 4 && peak_memory<Trained>() > 10_GB);
