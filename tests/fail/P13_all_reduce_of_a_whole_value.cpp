// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: all_reduce over data takes a sum that is not yet taken, but the value is Replicate: it is whole along data
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// torchtitan PR #2106: a needless all-reduce, which multiplies by the number of ranks.
#ifdef HEDDLE_REPAIRED
using Lies = Partial<axis::data>;
#else
using Lies = Replicate;
#endif

auto total(ThreadCommunicator& comm, Distributed<float, Lies> loss) { return all_reduce<axis::data>(comm, loss); }
