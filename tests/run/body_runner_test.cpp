// SPDX-License-Identifier: MIT
#include "heddle/run/body_runner.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

/// One float a row, of an output of four features: the sum of the targets.
struct OneTarget {
  using Target = float;
  static constexpr std::string_view name() { return "OneTarget"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec&) { return 1; }
  static constexpr std::int64_t flops(const Spec& s) { return s.elements(); }
};
template <class Compute> struct heddle::LossKernel<OneTarget, Compute> {
  static float sum(const LossCall& call) {
    float all = 0;
    for (std::int64_t r = 0; r < call.rows; ++r) all += static_cast<const float*>(call.targets)[r];
    for (std::int64_t i = 0; i < call.rows * call.features && call.gradient != nullptr; ++i) call.gradient[i] = 0;
    return all;
  }
};

namespace {

// One weight, output = weight x input; with MeanSquaredError and target 0 its gradient is 2 weight mean(input^2).
struct OneWeight : Sequential<Named<"only", Linear<1, 1, NoBias>>> {};
template <class... Options> using Of = Plan<OneWeight, MeanSquaredError, SGD, Batch<16, KeepLast>, Single, Options...>;

/// The gradient that a trainer sums for inputs whose squares are exact powers of two and some that round.
template <class ThePlan> [[nodiscard]] float gradient_of(const std::vector<float>& inputs) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0}};
  trainer.set_parameter("only.weight", std::array{0.5F});
  const std::vector<float> targets(inputs.size());
  trainer.step(examples(inputs, targets, 1));
  return trainer.gradient("only.weight")[0];
}

/// The same sum along the binary counter: pairs of neighbours first.
[[nodiscard]] float tree_of(std::vector<float> terms) {
  std::vector<std::pair<int, float>> stack;  // level, sum
  for (const float term : terms) {
    stack.emplace_back(0, term);
    while (stack.size() > 1 && stack[stack.size() - 2].first == stack.back().first) {
      const float right = stack.back().second;
      stack.pop_back();
      stack.back() = {stack.back().first + 1, stack.back().second + right};
    }
  }
  while (stack.size() > 1) {
    const float right = stack.back().second;
    stack.pop_back();
    stack.back().second = stack.back().second + right;
  }
  return stack.back().second;
}

}  // namespace

TEST_CASE("grains are added along the fixed tree, not one after another") {
  std::vector<float> inputs(16);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = std::exp2(static_cast<float>(i) * -0.77F);
  // Grain<1>: one term a row; d loss / d weight of row i is (2 / 16 x (0.5 x)) x, rounded as the kernels do
  std::vector<float> terms;
  for (const float x : inputs) terms.push_back((0.5F * x * 0.125F) * x);
  float running = 0;
  for (const float t : terms) running += t;
  const float summed = gradient_of<Of<Grain<1>>>(inputs);
  CHECK(summed == tree_of(terms));
  CHECK(tree_of(terms) != running);  // so the test can tell them apart
}

TEST_CASE("twelve grains leave two levels that are added low to high") {
  using Twelve = Plan<OneWeight, MeanSquaredError, SGD, Batch<12>, Single, Grain<1>>;
  std::vector<float> inputs(12);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = std::exp2(static_cast<float>(i) * -0.31F);
  Trainer<Twelve, CpuThreads> trainer{{.learning_rate = 0}};
  trainer.set_parameter("only.weight", std::array{0.5F});
  const std::vector<float> targets(12);
  trainer.step(examples(inputs, targets, 1));
  std::vector<float> terms;
  const auto scale = static_cast<float>(2 / 12.0);
  for (const float x : inputs) terms.push_back((0.5F * x * scale) * x);
  CHECK(trainer.gradient("only.weight")[0] == tree_of(terms));
}

TEST_CASE("rows that are missing count nothing: the mean is over those that are there") {
  const std::vector<float> inputs{1, 2, 3};
  const float expected = 2 * 0.5F * (1 + 4 + 9) / 3;
  CHECK(gradient_of<Of<>>(inputs) == doctest::Approx(expected).epsilon(1e-6));          // one product of three terms
  CHECK(gradient_of<Of<Grain<2>>>(inputs) == doctest::Approx(expected).epsilon(1e-6));  // the second grain has one row, six have none
}

TEST_CASE("outputs of a prediction come in the order of the rows, whatever their number") {
  using Small = Plan<OneWeight, MeanSquaredError, SGD, Batch<4>, DataParallel<2>>;
  Trainer<Small, CpuThreads> trainer{{}};
  trainer.set_parameter("only.weight", std::array{2.0F});
  const std::vector<float> inputs{1, 2, 3, 4, 5, 6, 7};
  CHECK(trainer.predict(inputs) == std::vector<float>{2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("a loss of one target a row finds those of every grain, whatever the size of the output") {
  struct FourOutputs : Sequential<Linear<1, 4>> {};
  std::vector<float> inputs(32, 1);
  std::vector<float> targets(32);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<float>(i);
  const auto loss = [&]<class ThePlan>() {
    Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0}};
    return *trainer.step(examples(inputs, targets, 1)).loss;
  };
  CHECK(loss.template operator()<Plan<FourOutputs, OneTarget, SGD, Batch<32>, Single>>() == 15.5);
  CHECK(loss.template operator()<Plan<FourOutputs, OneTarget, SGD, Batch<32>, Single, Grain<8>>>() == 15.5);
  CHECK(loss.template operator()<Plan<FourOutputs, OneTarget, SGD, Batch<32>, DataParallel<2>, Grain<8>>>() == 15.5);
}
