// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: a comparison is not linear, but its operand is a sum over tensor that is not yet taken
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// pytorch #147180: -5 * dt == 2 * dt is true rank by rank where the terms of dt are 0 on this rank.
#ifdef HEDDLE_REPAIRED
using Value = Distributed<float, Replicate>;
#else
using Value = Distributed<float, Partial<axis::tensor>>;
#endif

bool same(Value dt) { return -5 * dt == 2 * dt; }
