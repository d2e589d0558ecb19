// SPDX-License-Identifier: MIT
#include "heddle/run/examples.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

const std::vector<float> inputs{0, 1, 10, 11, 20, 21};
const std::vector<std::int32_t> labels{5, 6, 7};

}  // namespace

TEST_CASE("labels and inputs are seen row by row, not copied") {
  const Examples<std::int32_t> batch = examples(inputs, labels, 2);
  CHECK(batch.rows == 3);
  CHECK(batch.input_features == 2);
  CHECK(batch.target_features == 1);
  CHECK(batch.inputs == inputs.data());
  CHECK(batch.input(2)[1] == 21);
  CHECK(*batch.target(2) == 7);
  CHECK(batch.source_row(1) == 1);
}

TEST_CASE("a row may have a label for each of its positions") {
  const std::vector<std::int32_t> six{0, 1, 2, 3, 4, 5};
  const Examples<std::int32_t> batch = examples(inputs, six, 2, 2);
  CHECK((batch.rows == 3 && batch.target_features == 2));
  CHECK(batch.target(2)[1] == 5);
  CHECK(sentence([] { (void)examples(inputs, labels, 2, 2); }) ==
        "[heddle.D07] the inputs have 3 rows but there are 3 labels. Fix: give 2 labels for each row, or another number of features a row.");
}

TEST_CASE("real targets have as many features as fit the rows") {
  const std::vector<float> targets{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Examples<float> batch = examples(inputs, targets, 2);
  CHECK(batch.target_features == 3);
  CHECK(batch.target(1)[2] == 6);
}

TEST_CASE("an order says which source row each row is") {
  const std::vector<std::uint32_t> order{2, 0, 1};
  Examples<std::int32_t> batch = examples(inputs, labels, 2);
  batch.order = order.data();
  CHECK(batch.source_row(0) == 2);
  CHECK(batch.input(0)[0] == 20);
  CHECK(*batch.target(1) == 5);
}

TEST_CASE("a slice sees the same rows with and without an order, and a slice of a slice too") {
  const std::vector<std::uint32_t> order{2, 0, 1};
  Examples<std::int32_t> ordered = examples(inputs, labels, 2);
  const Examples<std::int32_t> plain = ordered;
  ordered.order = order.data();
  for (std::int64_t first = 0; first <= 3; ++first) {
    for (std::int64_t count = 0; first + count <= 3; ++count) {
      CHECK(plain.slice(first, count).rows == count);
      for (std::int64_t i = 0; i < count; ++i) {
        CHECK(plain.slice(first, count).input(i) == plain.input(first + i));
        CHECK(plain.slice(first, count).target(i) == plain.target(first + i));
        CHECK(ordered.slice(first, count).input(i) == ordered.input(first + i));
        CHECK(ordered.slice(first, count).slice(i, 1).target(0) == ordered.target(first + i));
      }
    }
  }
}

TEST_CASE("a slice of rows that are not there is refused, with the slice that is") {
  const Examples<std::int32_t> batch = examples(inputs, labels, 2);
  CHECK(sentence([&] { (void)batch.slice(2, 32); }) ==
        "[heddle.D07] slice(2, 32) asks for 32 rows from row 2 on, but the batch has 3. Fix: write slice(2, 1).");
  CHECK(sentence([&] { (void)batch.slice(4, 1); }) ==
        "[heddle.D07] slice(4, 1) asks for 1 row from row 4 on, but the batch has 3. Fix: write slice(2, 1).");
  CHECK(sentence([&] { (void)batch.slice(-1, 2); }) ==
        "[heddle.D07] slice(-1, 2) asks for 2 rows from row -1 on, but the batch has 3. Fix: write slice(0, 2).");
  CHECK(sentence([&] { (void)batch.slice(1, -2); }) ==
        "[heddle.D07] slice(1, -2) asks for -2 rows from row 1 on, but the batch has 3. Fix: write slice(1, 0).");
  CHECK(sentence([&] { (void)batch.slice(1, std::numeric_limits<std::int64_t>::max()); }).find("Fix: write slice(1, 2).") != std::string::npos);
  CHECK(sentence([&] { (void)batch.slice(1, 2).slice(1, 2); }).find("but the batch has 2. Fix: write slice(1, 1).") != std::string::npos);
  CHECK(sentence([&] { (void)batch.slice(3, 0).slice(0, 1); }).find("but the batch has 0. Fix: write slice(0, 0).") != std::string::npos);
}

TEST_CASE("any examples are walked in batches, of which the last may be smaller") {
  const std::vector<float> targets{1, 2, 3};
  std::vector<std::int64_t> rows;
  for (const auto& batch : examples(inputs, targets, 2).batches<2>()) {
    CHECK(*batch.target(0) == (rows.empty() ? 1 : 3));
    rows.push_back(batch.rows);
  }
  CHECK(rows == std::vector<std::int64_t>{2, 1});
  const auto batches = examples(inputs, labels, 2).batches(3);
  CHECK((batches.size() == 1 && (*batches.begin()).rows == 3));
  CHECK(examples(std::vector<float>{}, std::vector<float>{}, 2).batches<4>().size() == 0);
  CHECK(examples(inputs, labels, 2).batches<2>().size() == 2);
  CHECK(sentence([] { (void)examples(inputs, labels, 2).batches(-1); }) ==
        "[heddle.D11] batches of -1 rows were asked for. Fix: give a number of rows of at least 1.");
}

TEST_CASE("no rows are a batch of no rows") {
  CHECK(examples(std::vector<float>{}, std::vector<std::int32_t>{}, 2).rows == 0);
  CHECK(examples(std::vector<float>{}, std::vector<float>{}, 2).rows == 0);
}

TEST_CASE("arrays that do not fit together are refused with their numbers") {
  const std::vector<float> five(5);
  CHECK(sentence([&] { static_cast<void>(examples(five, labels, 2)); }) ==
        "[heddle.D07] 5 inputs are no whole rows of 2 features. Fix: give rows x features inputs, and the number of features of one row.");
  CHECK(sentence([&] { static_cast<void>(examples(inputs, labels, 0)); }) ==
        "[heddle.D07] 6 inputs are no whole rows of 0 features. Fix: give rows x features inputs, and the number of features of one row.");
  CHECK(sentence([&] { static_cast<void>(examples(inputs, labels, 3)); }) ==
        "[heddle.D07] the inputs have 2 rows but there are 3 labels. Fix: give 1 label for each row, or another number of features a row.");
  CHECK(sentence([&] { static_cast<void>(examples(inputs, five, 2)); }) ==
        "[heddle.D07] the inputs have 3 rows but there are 5 targets. Fix: give the same number of targets for each row.");
}

TEST_CASE("arrays that are given as temporaries live as long as the batch and its slices") {
  const auto made = [](float first) { return std::vector<float>{first, first + 1, first + 2, first + 3}; };
  const auto both = examples(made(10), std::vector<std::int32_t>{3, 4}, 2).slice(1, 1);
  CHECK((both.rows == 1 && both.input(0)[1] == 13 && *both.target(0) == 4));
  const std::vector<std::int32_t> two{8, 9};
  const auto one = examples(made(20), two, 2);
  CHECK((one.input(1)[0] == 22 && one.targets == two.data()));
  const auto other = examples(inputs, made(0).size() == 4 ? std::vector<float>{1, 2, 3} : made(1), 2);
  CHECK((other.inputs == inputs.data() && *other.target(2) == 3));
  const auto positions = examples(made(0), std::vector<std::int32_t>{1, 2, 3, 4}, 2, 2);
  CHECK((positions.target_features == 2 && positions.target(1)[1] == 4));
  CHECK(examples(inputs, labels, 2).owner == nullptr);
  CHECK(sentence([&] { (void)examples(made(0), labels, 2); }) ==
        "[heddle.D07] the inputs have 2 rows but there are 3 labels. Fix: give 1 label for each row, or another number of features a row.");
}

TEST_CASE("temporaries of any type live as long as the batch; only what looks at numbers of others is seen") {
  const auto kept = [](const auto& batch) {
    const auto later = batch.slice(1, 1);
    CHECK(later.owner != nullptr);
    CHECK((later.input(0)[1] == 13 && *later.target(0) == 4));
  };
  const auto four = [] { return std::array<float, 4>{10, 11, 12, 13}; };
  kept(examples(four(), std::array<std::int32_t, 2>{3, 4}, 2));
  kept(examples(four(), std::array<float, 2>{3, 4}, 2));
  kept(examples(std::pmr::vector<float>{10, 11, 12, 13}, std::pmr::vector<std::int32_t>{3, 4}, 2));
  kept(examples(std::initializer_list<float>{10, 11, 12, 13}, std::initializer_list<std::int32_t>{3, 4}, 2));
  using Numbers = float[4];
  kept(examples(Numbers{10, 11, 12, 13}, std::vector<std::int32_t>{3, 4}, 2));
  struct Tensor {  // no range, but it can be seen as one
    float numbers[4] = {10, 11, 12, 13};
    operator std::span<const float>() const { return numbers; }
  };
  kept(examples(Tensor{}, std::vector<std::int32_t>{3, 4}, 2));
  const Tensor tensor;
  CHECK(examples(tensor, std::vector<std::int32_t>{3, 4}, 2).inputs == tensor.numbers);
  const std::array<std::int32_t, 3> three{5, 6, 7};
  CHECK(examples(std::span{inputs}, std::span{three}, 2).owner == nullptr);
}

TEST_CASE("further targets stand behind those of each row; the batch keeps them, its order and its inputs") {
  const std::vector<float> inputs{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> labels{7, 8, 9};
  const std::vector<std::uint32_t> order{2, 0};
  auto some = examples(inputs, labels, 2).with_input(std::vector<std::int32_t>{10, 11, 12}, 1);
  some.order = order.data();
  some.rows = 2;
  const auto joined = some.with_targets(std::vector<float>{0.5F, 1.5F, 2.5F}, 1);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(joined)>, Examples<TargetValue>>);
  CHECK((joined.rows == 2 && joined.target_features == 2 && joined.order == order.data() && joined.more.count == 1));
  CHECK((joined.target(0)[0].label() == 9 && joined.target(0)[1].value() == 2.5F && joined.target(1)[1].value() == 0.5F));
  CHECK((joined.inputs == inputs.data() && joined.slice(1, 1).target(0)[0].label() == 7));
  const auto both = examples(inputs, labels, 2).with_targets(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, 2);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(both)>, Examples<std::int32_t>>);
  CHECK((both.target(2)[0] == 9 && both.target(2)[2] == 6));
  CHECK_THROWS_AS(static_cast<void>(examples(inputs, labels, 2).with_targets(std::vector<float>{1, 2}, 1)), Error);
  CHECK_THROWS_AS(static_cast<void>(some.with_targets(std::vector<float>{1, 2}, 1)), Error);  // row 2 is asked for
}
