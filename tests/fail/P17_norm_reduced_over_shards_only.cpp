// SPDX-License-Identifier: MIT
// expect: \[heddle\.P17\] A norm is not reduced over the axes on which parameters are split\.
// expect-g++: it is not yet summed over tensor, where parameters are split\. Fix: call all_reduce<axis::tensor>
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// torchtitan #596: the norm under tensor and data parallelism lacks an axis.
auto clipped(ThreadCommunicator& comm, const Distributed<std::vector<float>, Shard<axis::shard>, Shard<axis::tensor, 1>>& gradients) {
#ifdef HEDDLE_REPAIRED
  return clip(gradients, all_reduce<axis::shard, axis::tensor>(comm, squared_norm(gradients)), 1.0F);
#else
  return clip(gradients, all_reduce<axis::shard>(comm, squared_norm(gradients)), 1.0F);
#endif
}
