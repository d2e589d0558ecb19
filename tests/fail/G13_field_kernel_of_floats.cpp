// SPDX-License-Identifier: MIT
// expect: heddle\.G13
// expect: FieldCompute
// expect-g++: has a kernel for FieldCompute, but heddle::FieldKernel<Scale> has no static void forward\(const ForwardCall&\)\. Fix: add it
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"
using namespace heddle;
using namespace heddle::extending;
struct Scale {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Scale";
    leaf.spelled << "Scale";
    leaf.in = leaf.out = in;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};
template <> struct heddle::FieldKernel<Scale> {
#ifdef HEDDLE_REPAIRED
  static void forward(const ForwardCall&) {}
#else
  static float forward(float x) { return x; }
#endif
  static void backward(const BackwardCall&) {}
};
struct Scaled : Sequential<Linear<4, 4>, Scale, Linear<4, 4>> {};
bool scaled_is_proved() { return prove<Plan<Scaled, MeanSquaredError, SGD, Batch<8>, Single>>().ok(); }
