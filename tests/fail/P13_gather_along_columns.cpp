// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: the value is split along dimension 1
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A column-parallel output is split along its features.
#ifdef HEDDLE_REPAIRED
using Lies = Shard<axis::tensor>;
#else
using Lies = Shard<axis::tensor, 1>;
#endif

auto output(ThreadCommunicator& comm, const Distributed<std::vector<float>, Lies>& columns) { return all_gather<axis::tensor>(comm, columns); }
