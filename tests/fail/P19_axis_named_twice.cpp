// SPDX-License-Identifier: MIT
// expect: \[heddle\.P19\] The placements of a value contradict each other\.
// expect-g++: two placements of one value name axis data
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Gradient = Distributed<float, Partial<axis::data>, Shard<axis::shard>>;
#else
using Gradient = Distributed<float, Partial<axis::data>, Shard<axis::data>>;
#endif

static_assert(sizeof(Gradient) > 0);
