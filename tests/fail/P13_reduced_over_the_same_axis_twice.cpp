// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: is Replicate: it is whole along data and would be counted once a rank
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// VeOmni PR #862: a norm reduced over one axis too many.
auto loss(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, local);
#else
  return all_reduce<axis::data, axis::data>(comm, local);
#endif
}
