// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: RMSNorm<4, Epsilon<0>> has an epsilon that is not between 1e-1 and 1e-30\. Fix: write the digits of what is added: Epsilon<5> is 1e-5\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int digits = 6;
#else
inline constexpr int digits = 0;
#endif
struct Net : Sequential<RMSNorm<4, Epsilon<digits>>, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
