// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: a comparison takes a whole value, but each rank of data holds a part
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// pytorch #118369: ranks that take another branch call other collectives.
bool stop(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> bad_rows, Distributed<float, Shard<axis::data>> mine) {
  static_cast<void>(bad_rows), static_cast<void>(mine);
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::data>(comm, bad_rows) > 0;
#else
  return mine > 0;
#endif
}
