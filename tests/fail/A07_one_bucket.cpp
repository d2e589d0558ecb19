// SPDX-License-Identifier: MIT
// expect: \[heddle\.A07\] The reduction of gradients overlaps nothing\.
// expect-g++: are one bucket, so their reduction starts after the last backward and overlaps nothing\. Fix: name Bucket<
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<512, 512>, ReLU, Linear<512, 512>> {};

#ifdef HEDDLE_REPAIRED
using Pieces = Bucket<512_KiB>;
#else
using Pieces = Bucket<8_MiB>;
#endif

using Rows = Batch<64>;
using How = DataParallel<2>;
using Trained = Plan<Mlp, CrossEntropy, Adam, Rows, How, Pieces>;
static_assert(extending::require_no_advice<Trained>());
