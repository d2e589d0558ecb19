// SPDX-License-Identifier: MIT
// expect: \[heddle\.G09\] A model has nothing to train\.
// expect-g++: Fixed has parameters in frozen layers alone, so there is nothing to train\. Fix: leave a layer with parameters outside of Frozen\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Linear<10, 4>;
#else
using Head = Frozen<Linear<10, 4>>;
#endif

struct Fixed : Sequential<Frozen<Linear<20, 10>>, ReLU, Head> {};
using Trained = Plan<Fixed, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
