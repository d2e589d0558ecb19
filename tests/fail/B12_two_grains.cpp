// SPDX-License-Identifier: MIT
// expect: \[heddle\.B12\] Two plans do not end with the same bits\.
// expect-g++: grains of 64 and 16 rows\. Fix: name Grain<16> in both\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
template <class How> using With = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<16>, How>;
#else
template <class How> using With = Plan<Mlp, CrossEntropy, Adam, Batch<64>, How>;
#endif

static_assert(extending::require_same_bits<With<Single>, With<DataParallel<4>>>());
