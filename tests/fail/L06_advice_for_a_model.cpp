// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L06\] A question is asked of what is no plan\.
// expect-g++: Mlp is no Plan, but what a Plan names as its model\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Asked = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Asked = Mlp;
#endif

static_assert(extending::require_no_advice<Asked>());
static_assert(advice<Asked>().empty());
static_assert(same_bits<Asked, Asked>());
