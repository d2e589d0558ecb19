// SPDX-License-Identifier: MIT
// expect: \[heddle\.G02\] Branches give values that cannot be joined\.
// expect-g++: Branches in `1` has 1 branch, so nothing can be joined\. Fix: name at least two; Sequential<> hands on what it takes\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Mix = Branches<Add, Linear<16, 16>, Sequential<>>;
#else
using Mix = Branches<Add, Linear<16, 16>>;
#endif
struct Net : Sequential<Linear<784, 16>, Mix, Linear<16, 10>> {};
using Trained = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
