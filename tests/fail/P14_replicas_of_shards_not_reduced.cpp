// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: Partial<data> is given where Replicate is asked for
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

float stepped(Distributed<float> gradient) { return -0.1F * gradient.value(); }

// VeOmni #1059: the outer axis of a hybrid mesh has one rank today, so nobody reduces over it, and tomorrow it has two.
float update(ThreadCommunicator& comm, Distributed<float, Partial<axis::data, axis::shard>> gradient) {
#ifdef HEDDLE_REPAIRED
  return stepped(all_reduce<axis::shard, axis::data>(comm, gradient));
#else
  return stepped(all_reduce<axis::shard>(comm, gradient));
#endif
}
