// SPDX-License-Identifier: MIT
// expect: \[heddle\.B14\] A layer normalises more rows together than are summed as one\.
// expect-g++: layer 1 `1` BatchNorm2d<12> normalises at least 2 rows together, but those that are summed as one, a grain of one rank, are 1\.
// expect-g++: Fix: give each rank a larger batch, or name a Grain of at least 2 rows\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Rows = Batch<8>;
#else
using Rows = Batch<4>;
#endif
struct Net : Sequential<Input<12, 1, 1>, BatchNorm2d<12>, Flatten, Linear<12, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Rows, DataParallel<4>>;
static_assert(sizeof(Trained) > 0);
