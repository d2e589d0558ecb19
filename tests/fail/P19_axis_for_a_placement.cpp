// SPDX-License-Identifier: MIT
// expect: \[heddle\.P19\] The placements of a value contradict each other\.
// expect-g++: Distributed is given something that is no placement
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// The axis, not what the value does along it.
#ifdef HEDDLE_REPAIRED
using Loss = Distributed<float, Partial<axis::data>>;
#else
using Loss = Distributed<float, std::integral_constant<Axis, axis::data>>;
#endif

static_assert(sizeof(Loss) > 0);
