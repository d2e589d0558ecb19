// SPDX-License-Identifier: MIT
// pytorch #147180: operations that are not linear must not be given a Partial value; no layer here can be made to.
// expect: \[heddle\.P02\] Layers that are split by hand do not fit together\.
// expect-g++: layer 1 `1`: ReLU cannot be split by rows: it states no such signature\. Fix: let the policy choose\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 64>, ReLU, Linear<64, 10>> {};
#else
struct Mlp : Sequential<Linear<784, 64>, Row<ReLU>, Linear<64, 10>> {};
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
