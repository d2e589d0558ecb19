// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: would be counted once a rank\. Fix: leave the call out, or name tensor
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Megatron-LM #1446: under sequence parallelism the gradient of a LayerNorm is a sum over the tensor ranks.
auto gradient(ThreadCommunicator& comm, Distributed<float, Partial<axis::tensor>> norm_weight) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::tensor>(comm, norm_weight);
#else
  return all_reduce<axis::data>(comm, norm_weight);
#endif
}
