// SPDX-License-Identifier: MIT
// compilers: g++ clang++
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: has an epsilon that is not between 1e-1 and 1e-30\. Fix: write the digits of what is added: Epsilon<5> is 1e-5\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, RMSNorm<32, Epsilon<6>>, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, RMSNorm<32, Epsilon<1e-6>>, Linear<32, 4>> {};
#endif
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
