// SPDX-License-Identifier: MIT
// compilers: g++ clang++
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: has a momentum that is no fraction between 0 and 1\. Fix: write Momentum<1, 10> for 0\.1\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Tenth = Momentum<1, 10>;
#else
using Tenth = Momentum<0.1>;
#endif
struct Net : Sequential<Input<4, 2, 2>, BatchNorm2d<4, Tenth>, Flatten, Linear<16, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
