// SPDX-License-Identifier: MIT
// expect: \[heddle\.P02\] Layers that are split by hand do not fit together\.
// expect-g++: layer 2 `2` Linear<64, 10> is to be split by hand and takes Shard<0>, but the value before it lies another way on axis tensor\. Fix:
// let a Row follow a Column, with nothing between but layers that map every feature by itself\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Mlp : Sequential<Linear<784, 64>, ReLU, Row<Linear<64, 10>>> {};
#else
struct Mlp : Sequential<Linear<784, 64>, Flatten, Row<Linear<64, 10>>> {};
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
