// SPDX-License-Identifier: MIT
// expect: \[heddle\.G02\] Branches give values that cannot be joined\.
// expect-g++: branches `left` and `1` in `1` give \(32\) and \(16\), which cannot be added\. Fix: let branch `1` give \(32\)\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Other = Linear<16, 32>;
#else
using Other = ReLU;
#endif
struct Net : Sequential<Linear<784, 16>, Branches<Add, Named<"left", Linear<16, 32>>, Other>, Linear<32, 10>> {};
using Trained = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
