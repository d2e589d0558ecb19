// SPDX-License-Identifier: MIT
// expect: \[heddle\.P12\] Values of different placements are added or multiplied\.
// expect-g++: along shard they hold other parts\. Fix: call all_gather<axis::shard>
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// EasyEdit #516 in another dress: operands that live on other ranks.
#ifdef HEDDLE_REPAIRED
using Penalty = Distributed<float, Shard<axis::shard>>;
#else
using Penalty = Distributed<float, Replicate>;
#endif

auto decayed(Distributed<float, Shard<axis::shard>> gradient, Penalty penalty) { return gradient + penalty; }
