// SPDX-License-Identifier: MIT
// compilers: g++ clang++ nvcc
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: layer 1 `1`: Swish cannot be described at build for \(50\) or larger values\. Fix: let its describe set leaf\.fault where a value does
// not fit
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
constexpr std::int64_t unwanted = 51;
#else
constexpr std::int64_t unwanted = 50;
#endif

struct Swish {
  static constexpr Leaf describe(Spec in) {
    if (in.shape.last() == unwanted) throw "a width that Swish does not take";
    return elementwise("Swish", in, 5);
  }
  static float forward(float x);
  static float backward(float x, float gradient);
};
struct Mlp : Sequential<Linear<784, 50>, Swish, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
