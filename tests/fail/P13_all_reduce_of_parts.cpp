// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: its ranks hold parts, not terms\. Fix: call all_gather<axis::shard>
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Parts are joined, not summed.
auto whole(ThreadCommunicator& comm, const Distributed<std::vector<float>, Shard<axis::shard>>& parameters) {
#ifdef HEDDLE_REPAIRED
  return all_gather<axis::shard>(comm, parameters);
#else
  return all_reduce<axis::shard>(comm, parameters);
#endif
}
