// SPDX-License-Identifier: MIT
// expect: \[heddle\.G06\] A size of a layer is not positive\.
// expect-g++: layer 1 `1`: Gain has parameter `weight` \(-4\), which has a size below 1\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr std::int64_t size = 4;
#else
constexpr std::int64_t size = -4;
#endif

struct Gain {
  static constexpr Spec takes() { return Spec{Shape{4}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    return leaf.with({"weight", Shape{size}, Initial::ones});
  }
};
struct Net : Sequential<Linear<4, 4>, Gain, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
