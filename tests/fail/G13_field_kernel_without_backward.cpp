// SPDX-License-Identifier: MIT
// expect: heddle\.G13
// expect: FieldCompute
// expect-g++: has a kernel for FieldCompute, but heddle::FieldKernel<Gate> has no static void backward\(const BackwardCall&\)\. Fix: add it
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"
using namespace heddle;
using namespace heddle::extending;
struct Gate {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gate";
    leaf.spelled << "Gate";
    leaf.in = leaf.out = in;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};
template <> struct heddle::FieldKernel<Gate> {
  static void forward(const ForwardCall&) {}
#ifdef HEDDLE_REPAIRED
  static void backward(const BackwardCall&) {}
#endif
};
struct Gated : Sequential<Linear<4, 4>, Gate, Linear<4, 4>> {};
bool gated_is_proved() { return prove<Plan<Gated, MeanSquaredError, SGD, Batch<8>, Single>>().ok(); }
