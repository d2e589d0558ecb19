// SPDX-License-Identifier: MIT
// mistake: `ReLU()` for `ReLU` in a model
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.G05\]
// expect-g++: is no layer: the parentheses make a function of it\. Fix: write it without them; a model names types\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, ReLU(), Linear<32, 4>> {};
#endif
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Mine> == 1);
