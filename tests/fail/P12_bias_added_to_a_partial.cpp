// SPDX-License-Identifier: MIT
// expect: \[heddle\.P12\] Values of different placements are added or multiplied\.
// expect-g++: every rank of tensor would add the one that is whole to its own term
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// pytorch #172932: the bias added on a Partial gives a sum with one bias a rank.
auto output(ThreadCommunicator& comm, Distributed<float, Partial<axis::tensor>> product, Distributed<float> bias) {
#ifdef HEDDLE_REPAIRED
  return all_reduce<axis::tensor>(comm, product) + bias;
#else
  return all_reduce<axis::tensor>(comm, product + bias);
#endif
}
