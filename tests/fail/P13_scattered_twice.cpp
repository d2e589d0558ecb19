// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: reduce_scatter over shard takes a sum that is not yet taken.*its ranks hold parts, not terms
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

auto gradients(ThreadCommunicator& comm, const Distributed<std::vector<float>, Partial<axis::shard>>& terms) {
#ifdef HEDDLE_REPAIRED
  return reduce_scatter<axis::shard>(comm, terms);
#else
  return reduce_scatter<axis::shard>(comm, reduce_scatter<axis::shard>(comm, terms));
#endif
}
