// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: value\(\) takes a whole value, but this one is a sum over shard
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Megatron-Bridge PR #5591: an overflow that one rank has seen; the others go on with another loss scale.
float scale(ThreadCommunicator& comm, Distributed<float, Partial<axis::shard>> found_inf, float now) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::shard>(comm, found_inf).value() > 0 ? now / 2 : now;
#else
  return found_inf.value() > 0 ? now / 2 : now;
#endif
}
