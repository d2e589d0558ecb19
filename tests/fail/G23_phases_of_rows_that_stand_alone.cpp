// SPDX-License-Identifier: MIT
// expect: \[heddle\.G23\] A description contradicts itself\.
// expect-g++: Centred has phases, between which ranks tell each other of their rows, but says that rows stand alone\.
// expect-g++: Fix: set leaf\.rows_together to at least 1\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Centred {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Centred";
    leaf.spelled << "Centred";
    leaf.in = leaf.out = in;
    leaf.statistics = in.shape;
#ifdef HEDDLE_REPAIRED
    leaf.rows_together = 1;
#endif
    leaf.forward_phases.then_sum(in.elements());
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Centred, Linear<4, 3>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<4>, DataParallel<2>>;
static_assert(sizeof(Trained) > 0);
