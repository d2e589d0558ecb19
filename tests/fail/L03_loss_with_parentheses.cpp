// SPDX-License-Identifier: MIT
// mistake: `CrossEntropy()` for `CrossEntropy`
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L03\]
// expect-g++: is no part of a Plan: the parentheses make a function of it\. Fix: write it without them; a Plan names types\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Mine = Plan<Net, CrossEntropy(), Adam, Batch<64>, Single>;
#endif
static_assert(devices<Mine> == 1);
