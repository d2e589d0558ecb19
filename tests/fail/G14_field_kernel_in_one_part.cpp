// SPDX-License-Identifier: MIT
// expect: heddle\.G14
// expect: FieldCompute
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"
using namespace heddle;
using namespace heddle::extending;
struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};
template <> struct heddle::FieldKernel<Gain> {
#ifdef HEDDLE_REPAIRED
  static constexpr bool backward_in_parts = true;
#endif
  static void forward(const ForwardCall&) {}
  static void backward(const BackwardCall&) {}
};
struct Parted : Sequential<Linear<4, 4>, Gain, Linear<4, 4>> {};
using Mine = Plan<Parted, MeanSquaredError, SGD, Batch<8>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>;
bool parted_is_proved() { return prove<Mine>().ok(); }
