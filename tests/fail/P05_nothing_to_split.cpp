// SPDX-License-Identifier: MIT
// expect: \[heddle\.P05\] TensorParallel has nothing to split\.
// expect-g++: TensorParallel<2> finds nothing to split in Classifier, so its 2 ranks would all do the same work\. Fix: use another policy, or layers
// that state how they may be split\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

/// A layer that does not say how it may be split.
struct Gates {
  static constexpr Spec takes() { return Spec{Shape{10}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gates";
    leaf.spelled << "Gates";
    leaf.in = leaf.out = in;
    return leaf.with({"weight", Shape{10}, Initial::ones});
  }
};
struct Classifier : Sequential<Gates> {};

#ifdef HEDDLE_REPAIRED
using Ranks = DataParallel<2>;
#else
using Ranks = TensorParallel<2>;
#endif

using Trained = Plan<Classifier, CrossEntropy, Adam, Batch<64>, Ranks>;
static_assert(sizeof(Trained) > 0);
