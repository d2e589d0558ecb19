// SPDX-License-Identifier: MIT
// expect: \[heddle\.L03\] Something in the plan is no part of a plan\.
// expect-g++: Ignored<-100> is no part of a Plan by itself\. Fix: write it inside CrossEntropyWith<\.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropyWith<Ignored<-100>>, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Ignored<-100>, Adam, Batch<64>, Single>;
#endif

static_assert(devices<Trained> == 1);
