// SPDX-License-Identifier: MIT
// expect: \[heddle\.G04\] A name stands twice or cannot stand in a state_dict\.
// expect-g++: layer 1 `1`: Affine has two parameters named `scale`\. Fix: rename one of them\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr const char* second = "shift";
#else
constexpr const char* second = "scale";
#endif

struct Affine {
  static constexpr Spec takes() { return Spec{Shape{4}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Affine";
    leaf.spelled << "Affine";
    leaf.in = leaf.out = in;
    return leaf.with({"scale", Shape{4}, Initial::ones}).with({second, Shape{4}, Initial::zeros});
  }
};
struct Net : Sequential<Linear<4, 4>, Affine, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
