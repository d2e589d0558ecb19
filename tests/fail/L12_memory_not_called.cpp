// SPDX-License-Identifier: MIT
// mistake: `peak_memory<Mine> < 2_MiB` without `()`
// expect: \[heddle\.L12\] a function is compared with bytes, not what it gives\. Fix: call it, as in peak_memory<MyPlan>\(\)\.
// compilers: g++ clang++ clang++-14
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;

#ifdef HEDDLE_REPAIRED
static_assert(peak_memory<Trained>() < 2_MiB);
#else
static_assert(peak_memory<Trained> < 2_MiB);
#endif
