// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: transform is not linear, but its operand is a sum over tensor that is not yet taken
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// A row-parallel product before its reduction.
auto hidden(ThreadCommunicator& comm, Distributed<float, Partial<axis::tensor>> product) {
#ifdef HEDDLE_REPAIRED
  return transform(all_reduce<axis::tensor>(comm, product), [](float x) { return x > 0 ? x : 0; });
#else
  return all_reduce<axis::tensor>(comm, transform(product, [](float x) { return x > 0 ? x : 0; }));
#endif
}
