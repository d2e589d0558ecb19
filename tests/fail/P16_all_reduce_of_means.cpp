// SPDX-License-Identifier: MIT
// expect: \[heddle\.P16\] A mean of means does not weigh its rows equally\.
// expect-g++: all_reduce is given means of 8 rows each: their sum is no mean\. Fix: call mean_over
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

auto loss(ThreadCommunicator& comm, Distributed<MeanOf<8>, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return mean_over<axis::data>(comm, local);
#else
  return all_reduce<axis::data>(comm, local);
#endif
}
