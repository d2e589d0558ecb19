// SPDX-License-Identifier: MIT
#include "heddle/run/accuracy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/elementwise_losses.hpp"

using namespace heddle;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

double share(const std::vector<float>& outputs, const std::vector<std::int32_t>& labels, std::int64_t positions = 1) {
  const std::vector<float> inputs(labels.size() / static_cast<std::size_t>(positions));
  Accuracy counted;
  counted.add(outputs, examples(inputs, labels, 1, positions));
  return counted.share();
}

template <class Action> Code refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("the largest output is the answer: the first of equal ones, and never one beside a NaN") {
  CHECK(share({0.1F, 0.7F, 0.2F}, {1}) == 1);
  CHECK(share({0.1F, 0.7F, 0.2F, 0.4F, 0.4F, 0.2F}, {1, 1}) == 0.5);  // the second has its largest at 0
  for (std::int32_t label = 0; label < 3; ++label) {
    CHECK(share({0.5F, 0.5F, 0.5F}, {label}) == (label == 0 ? 1 : 0));
    CHECK(share({not_a_number, not_a_number, not_a_number}, {label}) == 0);
    CHECK(share({not_a_number, 0.9F, 0.1F}, {label}) == 0);
    CHECK(share({0.9F, 0.1F, not_a_number}, {label}) == 0);
    CHECK(share({-infinite, infinite, 0}, {label}) == (label == 1 ? 1 : 0));
    CHECK(share({-0.0F, 0.0F, -1}, {label}) == (label == 0 ? 1 : 0));  // zeros are equal
  }
}

TEST_CASE("it is that of a loop that looks for the largest, for any outputs, and positions of a sequence count one by one") {
  std::vector<float> outputs;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60; ++i) labels.push_back(static_cast<std::int32_t>(i * i % 5));
  for (int i = 0; i < 300; ++i) outputs.push_back(static_cast<float>((i * 37 + i * i * 11) % 29));  // some are equal
  int right = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const float* const row = outputs.data() + 5 * i;
    right += std::max_element(row, row + 5) - row == labels[i] ? 1 : 0;
  }
  REQUIRE(right > 0);
  CHECK(share(outputs, labels) == right / 60.0);
  CHECK(share(outputs, labels, 12) == right / 60.0);  // five rows of twelve positions
}

TEST_CASE("batches of any size are counted one after the other, in the order of the batch, and each row weighs the same") {
  const std::vector<float> inputs(3);
  const std::vector<std::int32_t> labels{0, 1, 1};
  const std::uint32_t order[] = {2, 0, 1};
  auto all = examples(inputs, labels, 1);
  all.order = order;
  const Evaluation evaluation{.rows = 3, .outputs = {0, 1, 1, 0, 1, 0}};  // answers 1, 0, 0; labels in this order 1, 0, 1
  CHECK(accuracy(evaluation, all) == 2 / 3.0);
  Accuracy counted;
  counted.add(std::vector<float>{0, 1, 1, 0}, all.slice(0, 2));
  counted.add(std::vector<float>{1, 0}, all.slice(2, 1));
  CHECK(counted.right() == 2);
  CHECK(counted.positions() == 3);
}

TEST_CASE("outputs of other rows, labels that are no class and the share of nothing are refused") {
  CHECK(refusal([] { (void)share({1, 2, 3}, {0, 1}); }) == Code{'D', 7});
  CHECK(refusal([] { (void)share({}, {0, 1}); }) == Code{'D', 7});
  CHECK(refusal([] { (void)share({1, 2, 3, 4}, {0, 2}); }) == Code{'D', 8});
  CHECK(refusal([] { (void)share({1, 2, 3, 4}, {0, -1}); }) == Code{'D', 8});
  CHECK(refusal([] { (void)share({}, {}); }) == Code{'D', 10});
}

TEST_CASE("positions whose target the loss leaves out are no positions") {
  const std::vector<float> outputs{0.1F, 0.9F, 0.8F, 0.2F, 0.3F, 0.7F};
  const std::vector<std::int32_t> labels{1, -100, 0};
  const auto batch = examples(std::span<const float>{outputs}, std::span<const std::int32_t>{labels}, 2);
  Accuracy counted{&CrossEntropyWith<Ignored<-100>>::counts};
  counted.add(std::span<const float>{outputs}, batch);
  CHECK(counted.positions() == 2);
  CHECK(counted.right() == 1);
}

TEST_CASE("rows with the targets of several losses have no accuracy that names none: floats among them are no labels") {
  const std::vector<TargetValue> targets{1, 0.0F, 0, 1.0F};
  const Examples<TargetValue> rows{nullptr, targets.data(), 2, 4, 2};
  const std::vector<float> outputs{0, 1, 5, 1, 0, 5, 0, 0};  // two classes and two more outputs a row
  Accuracy plain;
  CHECK_THROWS_WITH_AS(plain.add(outputs, rows), doctest::Contains("[heddle.D30] an accuracy was asked for of several losses together"), Error);
  using Two = Losses<LossOf<"kind", Outputs<2>, CrossEntropy>, LossOf<"size", Outputs<2>, Huber<>>>;
  Accuracy kind = AccuracyOf<Two, "kind">::begun(Spec{Shape{4}});
  kind.add(outputs, rows);
  CHECK((kind.positions() == 2 && kind.right() == 1));
}
