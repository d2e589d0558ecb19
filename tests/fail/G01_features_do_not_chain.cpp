// SPDX-License-Identifier: MIT
// mistake: sizes that do not follow each other
// compilers: g++ clang++ nvcc
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `2`: Linear<500, 10> takes 500 features but the value before it has 50\. Fix: write Linear<50, 10>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<50, 10>;
#else
using Last = Linear<500, 10>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Last> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
static_assert(sizeof(Trained) > 0);
