// SPDX-License-Identifier: MIT
// expect: \[heddle\.G02\] Branches give values that cannot be joined\.
// expect-g++: the Residual in `1` takes \(16\) but its layers give \(8\), which cannot be added\. Fix: let the last layer inside give \(16\)\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<32, 16>;
#else
using Last = Linear<32, 8>;
#endif

struct Skip : Sequential<Linear<784, 16>, Residual<Linear<16, 32>, GELU, Last>> {};
using Trained = Plan<Skip, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
