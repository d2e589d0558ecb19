// SPDX-License-Identifier: MIT
// expect: \[heddle\.G20\] The parameters of a layer do not follow what it takes\.
// expect-g++: Gain<64> takes \(6\) and \(7\) alike, with the same parameters, so its kernel may read past their ends\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

template <std::int64_t Features> struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain<" << Features << '>';
    leaf.in = leaf.out = in;
#ifdef HEDDLE_REPAIRED
    if (in.shape.last() != Features) leaf.fault = Diagnosis{Code{'G', 1}, "Gain takes 64 features. Fix: give them."};
#endif
    return leaf.with({"weight", Shape{Features}, Initial::ones});
  }
};
static_assert(explain_layer<Gain<64>>());
