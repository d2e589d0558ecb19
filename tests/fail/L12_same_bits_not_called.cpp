// SPDX-License-Identifier: MIT
// mistake: `static_assert(same_bits<A, B>)` without `()`
// expect: \[heddle\.L12\] a question is not asked: the parentheses after it are forgotten\. Fix: write them, as in same_bits<A, B>\(\)\.
// compilers: g++ clang++ clang++-14
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
template <class Policy> using With = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<16>, Policy>;

#ifdef HEDDLE_REPAIRED
static_assert(same_bits<With<Single>, With<DataParallel<4>>>());
#else
static_assert(same_bits<With<Single>, With<DataParallel<4>>>);
#endif
