// SPDX-License-Identifier: MIT
// mistake: `Linear<20>`: how many features come out is not said
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.G06\]
// expect-g++: Linear<20, 0> has a size that is not between 1 and 1,073,741,824\. Fix: write the numbers of features that go in and come out\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20>, ReLU, Linear<32, 4>> {};
#endif
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Mine> == 1);
