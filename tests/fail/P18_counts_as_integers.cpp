// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: all_reduce cannot move int: only float moves
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Count = float;
#else
using Count = int;
#endif

auto rows(ThreadCommunicator& comm, Distributed<Count, Partial<axis::data>> mine) { return all_reduce<axis::data>(comm, mine); }
