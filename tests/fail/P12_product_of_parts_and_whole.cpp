// SPDX-License-Identifier: MIT
// expect: \[heddle\.P12\] Values of different placements are added or multiplied\.
// expect-g++: cannot be multiplied: along tensor they hold other parts
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A mask of all heads on the heads of one rank.
#ifdef HEDDLE_REPAIRED
using Mask = Distributed<float, Shard<axis::tensor>>;
#else
using Mask = Distributed<float, Shard<axis::tensor, 1>>;
#endif

auto masked(Distributed<float, Shard<axis::tensor>> heads, Mask mask) { return heads * mask; }
