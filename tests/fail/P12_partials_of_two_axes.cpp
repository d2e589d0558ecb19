// SPDX-License-Identifier: MIT
// expect: \[heddle\.P12\] Values of different placements are added or multiplied\.
// expect-g++: Partial<data> and Partial<shard> cannot be added
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Each loss is a sum over another axis.
auto both(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> loss, Distributed<float, Partial<axis::shard>> penalty) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, loss) + all_reduce<axis::shard>(comm, penalty);
#else
  return all_reduce<axis::data, axis::shard>(comm, loss + penalty);
#endif
}
