// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.M14\] The axes have more ranks than an int counts\.
// expect-g++: with axis data of size 2,000,000,000 the plan has 4,000,000,000 ranks, at most 2,147,483,647 are counted\. Fix: use smaller sizes\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Replicas = DataParallel<4>;
#else
using Replicas = DataParallel<2'000'000'000>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2>, Replicas>>;
static_assert(devices<Trained> == 8);
