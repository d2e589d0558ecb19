// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\] A size of a layer is not positive\.
// expect-g++: Repeat<0, Linear<50, 50>> repeats its block 0 times\. Fix: repeat it at least once\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Middle = Repeat<1, Linear<50, 50>>;
#else
using Middle = Repeat<0, Linear<50, 50>>;
#endif

struct Mlp : Sequential<Linear<784, 50>, Middle, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
