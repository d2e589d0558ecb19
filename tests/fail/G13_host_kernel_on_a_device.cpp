// SPDX-License-Identifier: MIT
// expect: \[heddle\.G13\] A layer has no kernel for the backend\.
// expect-g++: has a kernel for CardCompute, but heddle::Kernel<Tripled, CardCompute> is written for the memory of the host
// expect-g++: tensors lie in CardMemory\. Fix: let it take ForwardCallIn<CardMemory> and BackwardCallIn<CardMemory>
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct CardMemory {};
struct CardCompute : EigenCompute {
  using Space = CardMemory;
};
struct Tripled {
  static constexpr Leaf describe(Spec in) { return elementwise("Tripled", in, 1); }
};
// For every backend that there will ever be.
template <class Compute> struct heddle::Kernel<Tripled, Compute> {
#ifdef HEDDLE_REPAIRED
  using Memory = typename Compute::Space;
#else
  using Memory = HostMemory;
#endif
  static void forward(const ForwardCallIn<Memory>& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) call.output[i] = 3 * call.input[i];
  }
  static void backward(const BackwardCallIn<Memory>& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) call.input_gradient[i] = 3 * call.output_gradient[i];
  }
};
struct AllTripled : Sequential<Input<4>, Tripled> {};
static_assert(sizeof(core_room::fired<run_room::CheckedKernels<AllTripled, CardCompute, false>>) > 0);
