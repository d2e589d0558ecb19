// SPDX-License-Identifier: MIT
// mistake: a model that names no layers
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L03\]
// expect-g++: \[heddle\.L03\] Net is no part of a Plan: it has no layers\. Fix: derive it from Sequential<\.\.\.> if it is your model
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net {};
#endif
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Mine> == 1);
