// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Mlp is no layer: it inherits from several types that place layers\. Fix: inherit from one of them and write the others inside it\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 10>, Residual<Linear<10, 10>>> {};
#else
struct Mlp : Sequential<Linear<784, 10>>, Residual<Linear<10, 10>> {};
#endif
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
