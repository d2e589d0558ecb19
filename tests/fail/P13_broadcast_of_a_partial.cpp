// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: broadcast over data would replace what the other ranks hold, but theirs are terms of a sum
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// The loss of rank 0 is not the loss.
float loss(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, local).value();
#else
  return broadcast<axis::data>(comm, local).held_by_this_rank();
#endif
}
