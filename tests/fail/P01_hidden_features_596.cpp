// SPDX-License-Identifier: MIT
// vllm #596: sizes that do not divide by the tensor-parallel ranks were found at run time, or rounded down.
// expect: \[heddle\.P01\] A layer cannot be split evenly over axis tensor\.
// expect-g++: TensorParallel<4> cannot split the 50 features of layer 0 `0` Linear<784, 50> evenly\. Fix: use as many ranks as divide 50: 1, 2, 5,
// 10, 25, 50\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Layers = TensorParallel<5>;
#else
using Layers = TensorParallel<4>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Layers>;
static_assert(sizeof(Trained) > 0);
