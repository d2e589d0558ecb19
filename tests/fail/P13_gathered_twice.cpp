// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: all_gather over shard joins parts, but the value is Replicate
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Fast-LLM #550: a collective where nothing is left to do.
auto parameters(ThreadCommunicator& comm, const Distributed<std::vector<float>, Shard<axis::shard>>& mine) {
#ifdef HEDDLE_REPAIRED
  return all_gather<axis::shard>(comm, mine);
#else
  return all_gather<axis::shard>(comm, all_gather<axis::shard>(comm, mine));
#endif
}
