// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: barrier names no axis. Fix: write barrier<axis::data>, with the axes whose ranks wait
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

void meet(ThreadCommunicator& comm) {
#ifdef HEDDLE_REPAIRED
  barrier<axis::data>(comm);
#else
  barrier(comm);
#endif
}
