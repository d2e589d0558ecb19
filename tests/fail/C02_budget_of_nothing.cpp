// SPDX-License-Identifier: MIT
// expect: \[heddle\.C02\] A budget of memory allows nothing\.
// expect-g++: a Memory of 0 bytes allows no plan\. Fix: name what a device has, or leave Memory out\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Budget = Memory<2_MiB>;
#else
using Budget = Memory<0_MiB>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single, Budget>;
static_assert(devices<Trained> == 1);
static_assert(peak_memory<Trained>() < 2_MiB);
