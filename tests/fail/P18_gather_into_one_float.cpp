// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: all_gather gives another number of elements, but float has a fixed one\. Fix: use a type with resize\(\)
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Value = std::vector<float>;
#else
using Value = float;
#endif

auto losses(ThreadCommunicator& comm, const Distributed<Value, Shard<axis::data>>& mine) { return all_gather<axis::data>(comm, mine); }
