// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: part\(\) is not linear, but its operand is a sum over shard
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// What a rank holds of a sum is no part of it.
#ifdef HEDDLE_REPAIRED
using Lies = Shard<axis::shard>;
#else
using Lies = Partial<axis::shard>;
#endif

float first(const Distributed<std::vector<float>, Lies>& gradient) { return gradient.part()[0]; }
