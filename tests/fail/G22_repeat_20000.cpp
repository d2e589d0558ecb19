// SPDX-License-Identifier: MIT
// expect: \[heddle\.G22\] A model has too many layers to be described at build\.
// expect-g++: Repeat<20000, Linear<4, 4> ?> has 20,000 layers, but at most 1500 can be checked at build\. Fix: use fewer layers, or layers that do
// more\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
constexpr int times = 20;
#else
constexpr int times = 20'000;
#endif
using Trained = Plan<Repeat<times, Linear<4, 4>>, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(devices<Trained> > 0);
