// SPDX-License-Identifier: MIT
// expect: \[heddle\.G13\] A layer has no kernel for the backend\.
// expect-g++: layer Bare has no kernel for EigenCompute\. Fix: specialise heddle::Kernel<Bare, EigenCompute>
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Bare {
  static constexpr Leaf describe(Spec in) { return elementwise("Bare", in, 1); }
};
#ifdef HEDDLE_REPAIRED
template <> struct heddle::Kernel<Bare, EigenCompute> : compute_room::Reshape {};
#else
template <> struct heddle::Kernel<ReLU, EigenCompute> : compute_room::Reshape {};
#endif
struct EndsBare : Sequential<Linear<4, 4>, Bare> {};
using Alone = Plan<EndsBare, CrossEntropy, SGD, Batch<4>, Single>;
void train_bare() { Trainer<Alone, CpuThreads> trainer{{}}; }
