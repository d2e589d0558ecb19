// SPDX-License-Identifier: MIT
// ColossalAI #6167: a vocabulary that the tensor-parallel ranks do not divide.
// expect: \[heddle\.P01\] A layer cannot be split evenly over axis tensor\.
// expect-g++: TensorParallel<4> cannot split the 50,257 features of layer 2 `head` Linear<64, 50257> evenly\. Fix: use as many ranks as divide
// 50,257: 1, 29\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int vocabulary = 50304;
#else
inline constexpr int vocabulary = 50257;
#endif
struct Model : Sequential<Linear<784, 64>, ReLU, Named<"head", Column<Linear<64, vocabulary>>>> {};

using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, TensorParallel<4>>;
static_assert(sizeof(Trained) > 0);
