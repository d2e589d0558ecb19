// SPDX-License-Identifier: MIT
// expect: \[heddle\.P19\] The placements of a value contradict each other\.
// expect-g++: Shard over tensor splits a dimension that is none of 0 to 15
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Python counts dimensions from the end; here they are counted from 0.
#ifdef HEDDLE_REPAIRED
using Columns = Distributed<float, Shard<axis::tensor, 1>>;
#else
using Columns = Distributed<float, Shard<axis::tensor, -1>>;
#endif

static_assert(sizeof(Columns) > 0);
