// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: squared_norm is not linear, but its operand is a sum over data that is not yet taken
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// The norm of a gradient before its reduction is the norm of one replica's.
auto norm(ThreadCommunicator& comm, Distributed<std::vector<float>, Partial<axis::data>> gradient) {
#ifdef HEDDLE_REPAIRED
  return squared_norm(all_reduce<axis::data>(comm, gradient));
#else
  return squared_norm(gradient);
#endif
}
