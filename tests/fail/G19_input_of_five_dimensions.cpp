// SPDX-License-Identifier: MIT
// expect: \[heddle\.G19\] A layer has more parameters, signatures or dimensions than are kept\.
// expect-g++: Input<2, 2, 2, 2, 2> takes \(2, 2, 2, 2, and 1 more\), which has 5 dimensions, but at most 4 are kept\. Fix: join some of them\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Input<2, 2, 2, 2>;
#else
using First = Input<2, 2, 2, 2, 2>;
#endif
struct Net : Sequential<First, Linear<2, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
