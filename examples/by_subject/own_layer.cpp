// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/own_layer.cpp -pthread -o own_layer && ./own_layer
// Two layers of one's own: Swish, two functions of one float, and RootMeanSquare, which has a parameter and brings its kernel.
#include <cmath>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/run/verify.hpp>
#include <iomanip>
#include <iostream>
#include <string>

using namespace heddle;
using namespace heddle::extending;

/// x sigmoid(x).
/// Source  sources.md#swish
struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, /*flops per element*/ 5); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1 + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * s * (1 + x * (1 - s));
  }
};
static_assert(explain_layer<Swish>());

/// y_j = gain_j x_j / r with r = sqrt(mean of x_j^2 + 1e-6), for every row.
/// Source  sources.md#rmsnorm
template <std::int64_t Features> struct RootMeanSquare {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "RootMeanSquare";
    leaf.spelled << "RootMeanSquare<" << Features << '>';
    leaf.in = leaf.out = in;
    leaf.saves = Saves::input;  // the backward reads x again, so the plan keeps it
    leaf.forward_flops = 4 * Features;
    leaf.backward_flops = 9 * Features;
    leaf.weight_flops = 3 * Features;  // of those: the gradient of the gain
    if (in.shape.dimensions != 1 || in.shape.last() != Features)
      leaf.fault = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes " << Features << " features but the value before it has " << in.shape
                                                                << ". Fix: write RootMeanSquare<" << in.shape.last() << ">.";
    leaf.with({"weight", Shape{Features}, Initial::ones});
    return leaf;
  }
};
static_assert(explain_layer<RootMeanSquare<64>>());

/// The kernel: pointers and run-time extents, row by row. It may be called with 0 rows.
template <std::int64_t Features, class Compute> struct heddle::Kernel<RootMeanSquare<Features>, Compute> {
  static float inverse_of_r(const float* x, std::int64_t n) {
    float sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += x[j] * x[j];
    return 1 / std::sqrt(sum / static_cast<float>(n) + 1e-6F);
  }
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t row = 0; row < call.rows; ++row) {
      const float* const x = call.input + row * n;
      const float inverse = inverse_of_r(x, n);
      for (std::int64_t j = 0; j < n; ++j) call.output[row * n + j] = call.parameters[0][j] * x[j] * inverse;
    }
  }
  static constexpr bool backward_in_parts = true;  // either gradient alone, for an order that splits the backward
  /// dgain_j = sum over rows of dy_j x_j / r;   dx_j = (gain_j dy_j - x_j mean(gain dy x) / r^2) / r
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    float* const gain_gradient = call.parameter_gradients == nullptr ? nullptr : call.parameter_gradients[0];  // null: not in this call
    if (gain_gradient != nullptr && !call.add) Compute::zero(gain_gradient, n);                                // else this grain is added
    for (std::int64_t row = 0; row < call.rows; ++row) {
      const float* const x = call.input + row * n;
      const float* const dy = call.output_gradient + row * n;
      const float inverse = inverse_of_r(x, n);
      float mean = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        if (gain_gradient != nullptr) gain_gradient[j] += dy[j] * x[j] * inverse;
        mean += call.parameters[0][j] * dy[j] * x[j] / static_cast<float>(n);
      }
      if (call.input_gradient == nullptr) continue;  // not in this call, or nobody needs it: the first layer of a model
      for (std::int64_t j = 0; j < n; ++j)
        call.input_gradient[row * n + j] = (call.parameters[0][j] * dy[j] - x[j] * mean * inverse * inverse) * inverse;
    }
  }
};

struct Network : Sequential<Linear<20, 64>, Named<"norm", RootMeanSquare<64>>, Swish, Linear<64, 10>> {};
template <class Policy> using Training = Plan<Network, CrossEntropy, Adam, Batch<64>, Grain<16>, Policy>;

template <class ThePlan> std::uint64_t train(const datasets::Dataset& data, bool report) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  if (report) trainer.on_step([](const StepResult& r) { std::cout << "step " << r.step << ", loss " << *r.loss << '\n'; }, Every{20});
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<64>()) trainer.step(batch);
  return trainer.parameter_hash();
}

std::string verdict(const std::string& fault) { return fault.empty() ? "nothing differs" : fault; }

int main() {
  return run_main([] {
    const auto data = datasets::synthetic(Seed{1}, 1280, 20, 10);
    const auto batch = *data.in_order().batches<64>().begin();
    std::cout << std::fixed << std::setprecision(2) << parameters<Network> << " parameters\n";
    using Mixed = Training<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
    std::cout << "Swish: " << verdict(gradcheck<Swish>().text) << '\n';
    std::cout << "RootMeanSquare: " << verdict(gradcheck<RootMeanSquare<64>>(Spec{Shape{64}}).text) << '\n';
    std::cout << "one step of the plan against Single: " << verdict(verify<Mixed, CpuThreads>(batch).text) << '\n';
    const bool equal = train<Mixed>(data, true) == train<Training<Single>>(data, false);
    std::cout << "parameters equal to Single, to the last bit: " << (equal ? "yes" : "no") << '\n';
    return equal ? 0 : 1;
  });
}
