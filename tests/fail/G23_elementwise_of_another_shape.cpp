// SPDX-License-Identifier: MIT
// expect: \[heddle\.G23\] A description contradicts itself\.
// expect-g++: layer 1 `1`: Halve says that it is elementwise, but makes \(2\) of \(4\)\. Fix: give the shape that it takes, or drop elementwise\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Halve {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("Halve", in, 1);
    leaf.out.shape = Shape{2};
#ifdef HEDDLE_REPAIRED
    leaf.elementwise = false;
#endif
    return leaf;
  }
};
struct Net : Sequential<Linear<4, 4>, Halve, Linear<2, 4>> {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
