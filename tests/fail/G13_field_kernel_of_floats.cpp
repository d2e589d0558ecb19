// SPDX-License-Identifier: MIT
// expect: heddle\.G13
// expect: FieldCompute
// expect-g++: has a kernel for FieldCompute, but heddle::FieldKernel<Gain> has no static void forward\(const ForwardCall&\)\. Fix: add it
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
  static void forward(const ForwardCall&) {}
#else
  static float forward(float x) { return x; }
#endif
  static void backward(const BackwardCall&) {}
};
struct Model : Sequential<Linear<4, 4>, Gain, Linear<4, 4>> {};
bool proved() { return prove<Plan<Model, MeanSquaredError, SGD, Batch<8>, Single>>().ok(); }
