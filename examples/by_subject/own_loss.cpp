// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/own_loss.cpp -pthread -o own_loss && ./own_loss
// A loss and an optimizer of one's own: the mean absolute error, and steps by the sign of a velocity. A plan trains with both, and is proved.
#include <cmath>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/field_threads.hpp>
#include <heddle/heddle.hpp>
#include <iomanip>
#include <iostream>
#include <vector>
using namespace heddle;
using namespace heddle::extending;

/// |x - target|, mean over rows and features.
struct AbsoluteError {
  using Target = float;  // or std::int32_t, for labels
  static constexpr std::string_view name() { return "AbsoluteError"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }  // or why an output is refused
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return 3 * output.elements(); }
};

template <> struct heddle::LossKernel<AbsoluteError, EigenCompute> {
  static float sum(const LossCall& call) {
    const auto* const targets = static_cast<const float*>(call.targets);
    const auto slope = static_cast<float>(1 / (static_cast<double>(call.features) * static_cast<double>(call.total_rows)));
    double sum = 0;
    for (std::int64_t i = 0; i < call.rows * call.features; ++i) {
      const float off = call.output[i] - targets[i];
      sum += static_cast<double>(std::abs(off));
      if (call.gradient != nullptr) call.gradient[i] = off > 0 ? slope : off < 0 ? -slope : 0.0F;
    }
    return static_cast<float>(sum / static_cast<double>(call.features));  // over rows it is a sum
  }
};

/// v = keep v + (1 - keep) g;   p -= learning_rate sign(v)
struct SignOfVelocity {
  static constexpr int states = 1;
  struct Options {
    double learning_rate = 1e-3;
    double keep = 0.9;
  };
  struct Constants {
    float learning_rate;
    float keep;
    float take;
  };
  static constexpr std::string_view name() { return "SignOfVelocity"; }
  static Constants constants(const Options& o, std::int64_t /*step*/) {
    return {static_cast<float>(o.learning_rate), static_cast<float>(o.keep), static_cast<float>(1 - o.keep)};
  }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient, float& velocity) {
    velocity = c.keep * velocity + c.take * gradient;
    parameter -= velocity > 0 ? c.learning_rate : velocity < 0 ? -c.learning_rate : 0.0F;
  }
  static Diagnosis check(const Options& o) {
    if (o.learning_rate >= 0 && o.keep >= 0 && o.keep < 1) return {};
    return Diagnosis{Code{'O', 1}, "SignOfVelocity"} << " takes a learning_rate from 0 and a keep from 0 to below 1. Fix: use 0.001 and 0.9.";
  }
};

struct Curve : Sequential<Linear<1, 32>, Tanh, Linear<32, 1>> {};
template <class Policy> using Training = Plan<Curve, AbsoluteError, SignOfVelocity, Batch<64>, Grain<16>, Policy>;
using Spread = Training<DataParallel<2>>;
struct Narrow : Sequential<Linear<1, 4>, Tanh, Linear<4, 1>> {};  // of the same layers: the bound of a proof is that of a small model

int main() {
  return run_main([] {
    std::vector<float> inputs(64);
    std::vector<float> targets(64);
    for (int i = 0; i < 64; ++i) {
      inputs[static_cast<std::size_t>(i)] = static_cast<float>(i) / 32 - 1;
      targets[static_cast<std::size_t>(i)] = std::sin(3 * inputs[static_cast<std::size_t>(i)]);
    }
    const auto batch = examples(inputs, targets, /*features*/ 1);
    Trainer<Spread, CpuThreads> trainer{{.learning_rate = 2e-3}, Seed{1}};
    Trainer<Training<Single>, CpuThreads> alone{{.learning_rate = 2e-3}, Seed{1}};
    trainer.on_step([](const StepResult& r) { std::cout << "step " << r.step << ", loss " << std::fixed << std::setprecision(2) << *r.loss << '\n'; },
                    Every{300});
    for (int step = 0; step < 600; ++step) {
      trainer.step(batch);
      alone.step(batch);
    }
    const bool equal = trainer.parameter_hash() == alone.parameter_hash();
    std::cout << "parameters equal to Single, to the last bit: " << (equal ? "yes" : "no") << '\n';
    const auto proof = prove<Plan<Narrow, AbsoluteError, SignOfVelocity, Batch<8>, DataParallel<2>>>();
    std::cout << "proved: " << (proof ? "yes" : proof.line()) << '\n';
    return equal && proof ? 0 : 1;
  });
}
