// SPDX-License-Identifier: MIT
// expect: \[heddle\.G13\] A layer has no kernel for the backend\.
// expect-g++: loss Cubic has no kernel for EigenCompute\. Fix: specialise heddle::LossKernel<Cubic, \.\.\.> with static float sum\(const LossCall&\),
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

/// |x - target| ^ 3.
struct Cubic {
  using Target = float;
  static constexpr std::string_view name() { return "Cubic"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return 4 * output.elements(); }
};
#ifdef HEDDLE_REPAIRED
using Loss = MeanSquaredError;
#else
using Loss = Cubic;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 2>>> {};
using Both = Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"angle", Outputs<2>, Loss>>;
using Trained = Plan<Mlp, Both, Adam, Batch<64>, Single>;
Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
