// SPDX-License-Identifier: MIT
// mistake: a loss of your own without `accepts`
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L03\]
// expect-g++: \[heddle\.L03\] Absolute is no part of a Plan: as a loss it lacks accepts\(Spec\)\. Fix: add it, static constexpr\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Absolute {
  using Target = float;
  static constexpr std::string_view name() { return "Absolute"; }
#ifdef HEDDLE_REPAIRED
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
#endif
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return 4 * output.elements(); }
};
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, Absolute, Adam, Batch<64>, Single>;
static_assert(devices<Mine> == 1);
