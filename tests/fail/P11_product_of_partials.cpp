// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: the product of Partial<data> and Partial<data> is not linear
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A squared loss is the square of the sum, not the sum of the squares of the terms.
auto squared(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> error) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, error) * all_reduce<axis::data>(comm, error);
#else
  return all_reduce<axis::data>(comm, error * error);
#endif
}
