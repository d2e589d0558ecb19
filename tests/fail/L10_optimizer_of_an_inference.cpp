// SPDX-License-Identifier: MIT
// expect: \[heddle\.L10\] An Inference names what only training has\.
// expect-g++: Adam is for training, but an Inference is only applied\. Fix: remove Adam, or write a Plan to train\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Applied = Inference<Mlp, Batch<64>, Single>;
#else
using Applied = Inference<Mlp, Adam, Batch<64>, Single>;
#endif

static_assert(devices<Applied> == 1);
