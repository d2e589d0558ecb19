// SPDX-License-Identifier: MIT
// expect: \[heddle\.G13\] A layer has no kernel for the backend\.
// expect-g++: layer Centred runs forward in 2 phases, but its kernel for EigenCompute in 1\. Fix: give Kernel a static constexpr ForwardPhase
// forward_phases
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Centred {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Centred";
    leaf.spelled << "Centred";
    leaf.in = leaf.out = in;
    leaf.statistics = in.shape;
    leaf.rows_together = 1;
    leaf.forward_phases.then_sum(in.elements());
    return leaf;
  }
};
template <> struct heddle::Kernel<Centred, EigenCompute> {
  static void forward(const ForwardCall&);
  static void backward(const BackwardCall&);
  static void tell(const ForwardCall&);
#ifdef HEDDLE_REPAIRED
  static constexpr ForwardPhase forward_phases[] = {&tell, &forward};
#else
  static constexpr ForwardPhase forward_phases[] = {&forward};
#endif
};
struct Net : Sequential<Linear<4, 4>, Centred, Linear<4, 3>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<4>, DataParallel<2>>;
void train() { Trainer<Trained, CpuThreads> trainer{{}}; }
