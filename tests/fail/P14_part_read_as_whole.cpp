// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: each rank of shard holds a part of this one
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A checkpoint of one rank's part under the name of the whole (sglang PR #36438).
std::vector<float> saved(ThreadCommunicator& comm, const Distributed<std::vector<float>, Shard<axis::shard>>& parameters) {
#ifdef HEDDLE_REPAIRED
  return all_gather<axis::shard>(comm, parameters).value();
#else
  return parameters.value();
#endif
}
