// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: value\(\) takes a whole value, but this one is a sum over data that is not yet taken
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

double printed(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> loss) {
#ifdef HEDDLE_REPAIRED
  return static_cast<double>(all_reduce<axis::data>(comm, loss).value());
#else
  return static_cast<double>(loss.value());
#endif
}
