// SPDX-License-Identifier: MIT
// expect: \[heddle\.G21\] A size is too large to be counted\.
// expect-g++: layer 0 `0`: Linear<1073741824, 1073741824> has parameter `weight` \(1,073,741,824, 1,073,741,824\), which has more than the
// 1,099,511,627,776 elements
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
constexpr std::int64_t features = 1 << 15;
#else
constexpr std::int64_t features = 1 << 30;
#endif
struct Wide : Sequential<Linear<features, features>> {};
using Trained = Plan<Wide, MeanSquaredError, Adam, Batch<8>, Single>;
static_assert(devices<Trained> > 0);
