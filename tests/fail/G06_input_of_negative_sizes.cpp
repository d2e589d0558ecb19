// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\] A size of a layer is not positive\.
// expect-g++: Input<-2, -2> takes \(-2, -2\), which has a size below 1\. Fix: give every dimension a size of at least 1\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Input<2, 2>;
#else
using First = Input<-2, -2>;
#endif
struct Net : Sequential<First, Flatten, Linear<4, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
