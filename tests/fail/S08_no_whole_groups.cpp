// SPDX-License-Identifier: MIT
// expect: \[heddle\.S08\] Micro-batches do not pass in whole groups\.
// expect-g++: Interleaved passes micro-batches in groups of 2, one for each device, but 5 are no whole groups\. Fix: name Microbatches<6>\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 20>, Linear<20, 10>> {};

#ifdef HEDDLE_REPAIRED
using Count = Microbatches<6>;
#else
using Count = Microbatches<5>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<60>, Pipeline<Balanced<2>, Interleaved<2>, Count>>;
static_assert(sizeof(Trained) > 0);
