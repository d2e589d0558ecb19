// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\] A size of a layer is not positive\.
// expect-g++: Input<> names no size\. Fix: write how many features a row has, as in Input<784>
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Rows = Input<4>;
#else
using Rows = Input<>;
#endif
struct Net : Sequential<Rows, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
