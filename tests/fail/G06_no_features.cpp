// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\] A size of a layer is not positive\.
// expect-g++: layer 2 `2`: Linear<0, 10> has a size that is not between 1 and 1,073,741,824\. Fix: write the numbers of features that go in and come
// out\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<50, 10>;
#else
using Last = Linear<0, 10>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Last> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
