// SPDX-License-Identifier: MIT
// mistake: `Memory<10>` for `Memory<10_MiB>`
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.C04\]
// expect-g++: \[heddle\.C04\] Memory<10> names no unit\. Fix: write Memory<10_MiB>, or _KiB or _GB\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single, Memory<10_MiB>>;
#else
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single, Memory<10>>;
#endif
static_assert(devices<Mine> == 1);
