// SPDX-License-Identifier: MIT
// expect: \[heddle\.P15\] A sum is taken for a mean, or has the wrong divisor\.
// expect-g++: a sum and a mean over data cannot be added: they have other divisors
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// An auxiliary loss that was summed, added to one that was averaged.
#ifdef HEDDLE_REPAIRED
using Auxiliary = Distributed<float, Mean<axis::data>>;
#else
using Auxiliary = Distributed<float, Sum<axis::data>>;
#endif

auto total(Distributed<float, Mean<axis::data>> loss, Auxiliary balance) { return loss + 0.01F * balance; }
