// SPDX-License-Identifier: MIT
// expect: \[heddle\.C03\] A bucket holds nothing\.
// expect-g++: a Bucket of 0 bytes holds no gradient\. Fix: name Bucket<1_MiB> or another size, or leave Bucket out\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Pieces = Bucket<1_MiB>;
#else
using Pieces = Bucket<0_MiB>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<2>, Pieces>;
static_assert(devices<Trained> == 2);
