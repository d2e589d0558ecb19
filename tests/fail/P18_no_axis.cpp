// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: all_reduce names no axis. Fix: write all_reduce<axis::data>
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// VeOmni #1059 again: over which ranks?
auto loss(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, local);
#else
  return all_reduce(comm, local);
#endif
}
