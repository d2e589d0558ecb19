// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Marked is no layer: it says is_composite, but has no trace\. Fix: drop is_composite, or inherit from Sequential\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Marked {
  static constexpr bool is_composite = true;
};
#ifdef HEDDLE_REPAIRED
using Block = Sequential<Linear<50, 50>>;
#else
using Block = Marked;
#endif
struct Mlp : Sequential<Linear<784, 50>, Block, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
