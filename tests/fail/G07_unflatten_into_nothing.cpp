// SPDX-License-Identifier: MIT
// expect: \[heddle\.G07\] A shape is divided into another number of elements\.
// expect-g++: Unflatten<> names no size\. Fix: give sizes whose product is 32\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Divided = Unflatten<32>;
#else
using Divided = Unflatten<>;
#endif
struct Net : Sequential<Linear<4, 32>, Divided, Linear<32, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
