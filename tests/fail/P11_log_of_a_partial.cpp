// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: log is not linear, but its operand is a sum over data that is not yet taken
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// The logarithm of a sum is not the sum of logarithms.
float entropy(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return log(all_reduce<axis::data>(comm, local)).value();
#else
  return all_reduce<axis::data>(comm, log(local)).value();
#endif
}
