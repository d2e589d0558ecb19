// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: Partial<tensor> is given where Replicate is asked for: they differ along tensor
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

float stepped(Distributed<float> gradient) { return -0.1F * gradient.value(); }

// Megatron-LM #7452: a gradient that is reduced over data and not over tensor reaches the optimizer.
float update(ThreadCommunicator& comm, Distributed<float, Partial<axis::data, axis::tensor>> gradient) {
#ifdef HEDDLE_REPAIRED
  return stepped(all_reduce<axis::data, axis::tensor>(comm, gradient));
#else
  return stepped(all_reduce<axis::data>(comm, gradient));
#endif
}
