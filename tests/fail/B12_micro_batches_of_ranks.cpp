// SPDX-License-Identifier: MIT
// expect: \[heddle\.B12\] Two plans do not end with the same bits\.
// expect-g++: BatchNorm2d<4, Synchronised> normalises the rows of a micro-batch of all ranks together, and they make 2 and 1 micro-batches
// expect-g++: Fix: make as many in both\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Rounds = Accumulate<1>;
#else
using Rounds = Accumulate<2>;
#endif
struct Net : Sequential<Input<4, 2, 2>, BatchNorm2d<4, Synchronised>, Flatten, Linear<16, 4>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, Parts...>;
static_assert(extending::require_same_bits<Of<DataParallel<2>, Rounds>, Of<Single>>());
