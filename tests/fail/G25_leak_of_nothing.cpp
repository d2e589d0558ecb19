// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: LeakyReLU<0, 100> has a factor that is not above 0 and at most 1\. Fix: write LeakyReLU<1, 5> for 0\.2, or ReLU for 0\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Unit = LeakyReLU<>;
#else
using Unit = LeakyReLU<0>;
#endif
struct Net : Sequential<Linear<4, 8>, Unit, Linear<8, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
