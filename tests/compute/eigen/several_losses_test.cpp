// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/several_losses.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "heddle/graph/losses/elementwise_losses.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"

using namespace heddle;

namespace {

constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();
using Words = CrossEntropyWith<Ignored<-100>, ClassWeights>;
using All = Losses<LossOf<"words", Outputs<5>, Words>, LossOf<"values", Outputs<3>, MeanSquaredError, LossWeight<1, 4>>,
                   LossOf<"early", Outputs<5>, CrossEntropyWith<Ignored<-100>, LabelSmoothing<1, 10>>, TargetsOf<"words">, LossWeight<3, 10>>>;

float drawn(std::int64_t i) { return static_cast<float>((37 * i + i / 5 * 11) % 61 - 30) / 16; }
std::int32_t label(std::int64_t i) { return i % 4 == 1 ? -100 : static_cast<std::int32_t>((7 * i + 3) % 5); }
constexpr float weights[] = {1, 0.5F, 2, 0.25F, 3};

/// 13 outputs of each position: 5 of words, 3 of values, 5 of an early classifier. A row of targets has the words of all positions, then the values.
struct Case {
  std::int64_t rows, positions;
  std::vector<float> output{}, gradient{}, wanted{};
  std::vector<TargetValue> targets{};
  CountedTargets counted[3]{};

  Case(std::int64_t r, std::int64_t p) : rows(r), positions(p) {
    for (std::int64_t i = 0; i < rows * positions * 13; ++i) output.push_back(drawn(i));
    gradient.assign(output.size(), unwritten);
    wanted.resize(output.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < positions; ++i) targets.emplace_back(label(row * positions + i));
      for (std::int64_t i = 0; i < 3 * positions; ++i) targets.emplace_back(drawn(5 * (row * 3 * positions + i) + 2));
    }
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      if (label(i) < 0)
        counted[0].left_out = ++counted[2].left_out;
      else
        counted[0].sum_of_weights += static_cast<double>(weights[label(i)]);
    }
  }
  [[nodiscard]] LossCall call() {
    LossCall all{rows, 13 * positions, rows, output.data(), targets.data(), gradient.data(), positions};
    all.target_features = 4 * positions;
    all.class_weights = weights;
    all.each = counted;
    return all;
  }
  /// One of the losses in arrays of its own, where its kernel is called once.
  template <class Loss, class Target>
  double alone(std::int64_t first, std::int64_t size, std::int64_t first_target, std::int64_t each, int number, float weight) {
    std::vector<float> part, slope;
    std::vector<Target> own;
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      for (std::int64_t j = 0; j < size; ++j) part.push_back(output[static_cast<std::size_t>(13 * i + first + j)]);
      for (std::int64_t j = 0; j < each; ++j) {
        const std::int64_t at = i / positions * 4 * positions + first_target + i % positions * each + j;
        own.push_back(__builtin_bit_cast(Target, targets[static_cast<std::size_t>(at)].bits));
      }
    }
    slope.assign(part.size(), 0);
    LossCall all{rows * positions, size, rows * positions, part.data(), own.data(), slope.data()};
    all.target_features = each;
    all.left_out = counted[number].left_out;
    const bool weighs = graph_room::weighs_classes<Loss>();
    if (weighs) all.class_weights = weights, all.sum_of_weights = counted[number].sum_of_weights;
    const double sum = static_cast<double>(LossKernel<Loss, EigenCompute>::sum(all));
    for (std::int64_t i = 0; i < rows * positions; ++i)
      for (std::int64_t j = 0; j < size; ++j)
        wanted.at(static_cast<std::size_t>(13 * i + first + j)) = weight * slope[static_cast<std::size_t>(size * i + j)];
    return sum / (weighs ? all.sum_of_weights : static_cast<double>(rows * positions - all.left_out));
  }
};

void check_case(std::int64_t rows, std::int64_t positions) {
  CAPTURE(rows);
  CAPTURE(positions);
  Case c{rows, positions};
  const double means[] = {c.alone<Words, std::int32_t>(0, 5, 0, 1, 0, 1), c.alone<MeanSquaredError, float>(5, 3, positions, 3, 1, 0.25F),
                          c.alone<CrossEntropyWith<Ignored<-100>, LabelSmoothing<1, 10>>, std::int32_t>(8, 5, 0, 1, 2, 0.3F)};
  double each[3]{}, divisors[3]{};
  LossCall call = c.call();
  call.gradient = nullptr;
  LossKernel<All, EigenCompute>::each(call, each, divisors);
  for (int k = 0; k < 3; ++k) CHECK(std::abs(each[k] - means[k]) < 1e-6 * (1 + means[k]));
  const auto all = static_cast<double>(rows * positions);
  CHECK((divisors[0] == c.counted[0].sum_of_weights && divisors[1] == all && divisors[2] == all - static_cast<double>(c.counted[2].left_out)));
  const double sum = static_cast<double>(LossKernel<All, EigenCompute>::sum(c.call()));
  CHECK(std::abs(sum / static_cast<double>(rows) - (means[0] + 0.25 * means[1] + 0.3 * means[2])) < 1e-5);
  for (std::size_t i = 0; i < c.gradient.size(); ++i) CHECK(std::abs(static_cast<double>(c.gradient[i] - c.wanted[i])) <= 1e-7);
  Case there{rows, positions};  // the gradient lies where the output does
  LossCall over = there.call();
  over.gradient = there.output.data();
  CHECK(static_cast<double>(LossKernel<All, EigenCompute>::sum(over)) == sum);
  CHECK(there.output == c.gradient);
}

}  // namespace

TEST_CASE("the sum and the gradient are those of each loss in arrays of its own, times its weight") {
  check_case(8, 1);
  check_case(1, 1);
  check_case(3, 6);
  check_case(16, 2);
}

TEST_CASE("no rows have no sum, and nothing is divided by 0 where nothing counts for a loss") {
  Case none{0, 1};
  CHECK(LossKernel<All, EigenCompute>::sum(none.call()) == 0);
  Case c{4, 1};
  for (std::size_t row = 0; row < 4; ++row) c.targets[4 * row] = -100;
  c.counted[0] = {4, 0};
  c.counted[2] = {4, 0};
  double each[3]{}, divisors[3]{};
  LossCall call = c.call();
  call.gradient = nullptr;
  LossKernel<All, EigenCompute>::each(call, each, divisors);
  CHECK((each[0] == 0 && each[2] == 0 && each[1] > 0));
}

TEST_CASE("a label that is no class gives NaN and reads nothing outside the part of its loss") {
  Case c{2, 1};
  c.targets[0] = 5;
  CHECK(std::isnan(LossKernel<All, EigenCompute>::sum(c.call())));
  CHECK(std::isnan(c.gradient[0]));
  CHECK_FALSE(std::isnan(c.gradient[5]));
  CHECK_FALSE(std::isnan(c.gradient[13]));
}

TEST_CASE("the gradient is the slope of the mean along each output") {
  Case c{3, 2};
  const double rows = static_cast<double>(c.rows);
  const auto mean = [&] {
    LossCall call = c.call();
    call.gradient = nullptr;
    double means[3]{}, divisors[3]{};
    LossKernel<All, EigenCompute>::each(call, means, divisors);
    return means[0] + 0.25 * means[1] + static_cast<double>(0.3F) * means[2];
  };
  CHECK(std::abs(static_cast<double>(LossKernel<All, EigenCompute>::sum(c.call())) / rows - mean()) < 1e-5);
  constexpr float step = 1e-2F;
  for (std::size_t i = 0; i < c.output.size(); ++i) {
    const float there = c.output[i];
    c.output[i] = there + step;
    const double above = mean();
    c.output[i] = there - step;
    const double below = mean();
    c.output[i] = there;
    CAPTURE(i);
    CHECK(std::abs((above - below) / (2 * static_cast<double>(step)) - static_cast<double>(c.gradient[i])) <
          2e-3 * (1 + std::abs(static_cast<double>(c.gradient[i]))));
  }
}
