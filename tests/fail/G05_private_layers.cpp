// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Mlp is no layer: it inherits its layers privately, as a class does\. Fix: write struct instead of class, or inherit publicly\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
#else
class Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
#endif
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
