// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: each rank of data holds a term of a sum\. Fix: call all_reduce<axis::data>
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

auto gradients(ThreadCommunicator& comm, const Distributed<std::vector<float>, Partial<axis::data>>& terms) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, terms);
#else
  return all_gather<axis::data>(comm, terms);
#endif
}
