// SPDX-License-Identifier: MIT
// expect: \[heddle\.P12\] Values of different placements are added or multiplied\.
// expect-g++: every rank of data would add the one that is whole to its own term
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A constant is whole on every rank.
auto shifted(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> loss) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, loss) + 1;
#else
  return all_reduce<axis::data>(comm, loss + 1);
#endif
}
