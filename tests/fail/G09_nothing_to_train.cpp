// SPDX-License-Identifier: MIT
// expect: \[heddle\.G09\] A model has nothing to train\.
// expect-g++: Squash has no parameters, so there is nothing to train\. Fix: add a layer with parameters\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<10, 10>;
#else
using Last = Tanh;
#endif

struct Squash : Sequential<Input<10>, ReLU, Last> {};
using Trained = Plan<Squash, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
