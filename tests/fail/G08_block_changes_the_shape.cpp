// SPDX-License-Identifier: MIT
// expect: \[heddle\.G08\] A repeated block gives another shape than it takes\.
// expect-g++: Repeat<12, Linear<50, 40>> has a block that takes \(50\) and gives \(40\), so it cannot follow itself\. Fix: let the block give what it
// takes\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Block = Linear<50, 50>;
#else
using Block = Linear<50, 40>;
#endif

struct Deep : Sequential<Linear<784, 50>, Repeat<12, Block>> {};
using Trained = Plan<Deep, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
