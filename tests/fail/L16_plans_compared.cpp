// SPDX-License-Identifier: MIT
// mistake: plans compared as values
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L16\] plans are types, but objects of them are compared\. Fix: ask std::is_same_v<A, B>
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Other = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;
#ifdef HEDDLE_REPAIRED
static_assert(!std::is_same_v<Mine, Other>);
#else
static_assert(Mine{} == Other{});
#endif
