// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: Linear<4, 4, int> has a third argument that says nothing of a bias\. Fix: write Linear<4, 4>, or NoBias for none\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Bias = NoBias;
#else
using Bias = int;
#endif
struct Net : Sequential<Linear<4, 4, Bias>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
