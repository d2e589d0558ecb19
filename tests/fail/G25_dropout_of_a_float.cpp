// SPDX-License-Identifier: MIT
// mistake: `Dropout<0.5>`, a probability that is no fraction
// compilers: g++ clang++
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: Dropout names a probability that is no fraction of two whole numbers\. Fix: write Dropout<1, 10> for 0\.1\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, Dropout<1, 2>, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, Dropout<0.5>, Linear<32, 4>> {};
#endif
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
