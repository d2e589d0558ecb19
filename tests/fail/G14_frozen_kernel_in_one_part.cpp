// SPDX-License-Identifier: MIT
// expect: \[heddle\.G14\] A kernel has no backward in two parts\.
// expect-g++: layer Gain has parameters, but its kernel for EigenCompute has no backward in two parts, which Frozen needs\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    return leaf.with({"weight", Shape{in.elements()}, Initial::ones});
  }
};
template <> struct heddle::Kernel<Gain, EigenCompute> {
#ifdef HEDDLE_REPAIRED
  static constexpr bool backward_in_parts = true;
#endif
  static void forward(const ForwardCall&);
  static void backward(const BackwardCall&);
};
struct Parted : Sequential<Linear<4, 4>, Frozen<Gain>, Linear<4, 3>> {};
using Tuned = Plan<Parted, CrossEntropy, SGD, Batch<4>, Single>;
void train_parted() { Trainer<Tuned, CpuThreads> trainer{{}}; }
