// SPDX-License-Identifier: MIT
// expect: \[heddle\.B08\] A split product is added in another order than on one device\.
// expect-g++: sums are to be reproducible, but the 2 ranks of axis tensor add the terms of a product in another order than one device\. Fix: drop
// Reproducible; Grain keeps the order of all other sums\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Sums = Grain<16>;
#else
using Sums = Reproducible;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>, Sums>;
static_assert(sizeof(Trained) > 0);
static_assert(sizeof(Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<2>, Reproducible>) > 0);  // whose products one device makes
