// SPDX-License-Identifier: MIT
// mistake: `Named<"first">` without a layer
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.G05\]
// expect-g++: a Named has a name, but names none\. Fix: write the layer after the name\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Named<"first", Linear<20, 32>>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Named<"first">, ReLU, Linear<32, 4>> {};
#endif
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Mine> == 1);
