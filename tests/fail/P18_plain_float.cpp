// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: all_reduce is given float, which does not say how it lies over the ranks
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

auto loss(ThreadCommunicator& comm, float local) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, Distributed<float, Partial<axis::data>>{local});
#else
  return all_reduce<axis::data>(comm, local);
#endif
}
