// SPDX-License-Identifier: MIT
// expect: \[heddle\.P11\] An operation that is not linear sees a sum that is not yet taken\.
// expect-g++: a divisor is not linear, but its operand is a sum over data that is not yet taken
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Megatron-LM #7452: a sum normalised by the count of one rank.
auto mean(ThreadCommunicator& comm, Distributed<float, Partial<axis::data>> loss, Distributed<float, Partial<axis::data>> tokens) {
#ifdef HEDDLE_REPAIRED
  return loss / all_reduce<axis::data>(comm, tokens);
#else
  return all_reduce<axis::data>(comm, loss / tokens);
#endif
}
