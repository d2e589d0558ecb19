// SPDX-License-Identifier: MIT
// expect: \[heddle\.P13\] A collective is called on a value that does not lie so along its axis\.
// expect-g++: dimension 0, which is split over data as well\. Fix: call all_gather<axis::data> first
#include <vector>

#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Which parts are neighbours depends on the order of the gathers, so one order is fixed.
auto whole(ThreadCommunicator& comm, const Distributed<std::vector<float>, Shard<axis::shard>, Shard<axis::data, 1>>& a,
           const Distributed<std::vector<float>, Shard<axis::shard>, Shard<axis::data>>& b) {
  static_cast<void>(a), static_cast<void>(b);
#ifdef HEDDLE_REPAIRED
  return all_gather<axis::shard>(comm, a);
#else
  return all_gather<axis::shard>(comm, b);
#endif
}
