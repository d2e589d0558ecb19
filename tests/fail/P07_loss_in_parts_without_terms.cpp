// SPDX-License-Identifier: MIT
// expect: \[heddle\.P07\] A loss takes parts, but its kernel makes no terms of them\.
// expect-g++: Hinge says that it takes outputs in parts, but its kernel for EigenCompute makes no terms of a part\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Hinge {
  using Target = std::int32_t;
  static constexpr std::string_view name() { return "Hinge"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec&) { return 1; }
  static constexpr std::int64_t flops(const Spec& output) { return 3 * output.elements(); }
  static constexpr auto splits(const Spec&) { return laid::shard(0); }
  static constexpr std::int64_t terms(const Spec&) { return 1; }
};
template <> struct heddle::LossKernel<Hinge, EigenCompute> {
#ifdef HEDDLE_REPAIRED
  static void terms(const LossCall&);
#endif
  static float sum(const LossCall&);
};
struct Widened : Sequential<Linear<4, 64>> {};
using Trained = Plan<Widened, Hinge, SGD, Batch<4>, TensorParallel<2>>;
void train_widened() { Trainer<Trained, CpuThreads> trainer{{}}; }
