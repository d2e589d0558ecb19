// SPDX-License-Identifier: MIT
// mistake: a batch that does not divide
// compilers: g++ clang++ nvcc
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<63> does not divide by 4 ranks\. Fix: use 60 or 64 rows, or name DropLast, PadLast or KeepLast\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<63, KeepLast>;
#else
using Rows = Batch<63>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<4>>;
static_assert(sizeof(Trained) > 0);
