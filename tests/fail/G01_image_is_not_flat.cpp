// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `2`: Linear<784, 10> takes 784 features but the value before it has 28 in the last dimension of \(28, 28\)\. Fix: put Flatten
// before it\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Rows = Flatten;
#else
using Rows = ReLU;
#endif

struct Image : Sequential<Input<28, 28>, Rows, Linear<784, 10>> {};
using Trained = Plan<Image, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
