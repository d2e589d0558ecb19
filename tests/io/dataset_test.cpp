// SPDX-License-Identifier: MIT
#include "heddle/io/dataset.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::sentence;

static_assert(std::forward_iterator<Batches<std::int32_t>::iterator>);

namespace {

/// Row r holds (r, r + 0.5) and has label r mod 3.
Dataset numbered(int rows) {
  LabelledRows made{{}, {}, 2, 3};
  for (int row = 0; row < rows; ++row) {
    made.images.push_back(static_cast<float>(row));
    made.images.push_back(static_cast<float>(row) + 0.5F);
    made.labels.push_back(row % 3);
  }
  return Dataset{made};
}

}  // namespace

TEST_CASE("batches in order hold every row once, and the last may be smaller") {
  const Dataset data = numbered(10);
  std::vector<std::int64_t> sizes;
  std::int64_t row = 0;
  for (const auto& batch : data.in_order().batches<4>()) {
    sizes.push_back(batch.rows);
    CHECK(batch.order == nullptr);
    CHECK(batch.input_features == 2);
    CHECK(batch.target_features == 1);
    for (std::int64_t i = 0; i < batch.rows; ++i, ++row) {
      CHECK(batch.input(i)[1] == static_cast<float>(row) + 0.5F);
      CHECK(*batch.target(i) == row % 3);
    }
  }
  CHECK(row == 10);
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 2});
  CHECK(data.in_order().batches<4>().size() == 3);
  CHECK(data.in_order().batches<5>().size() == 2);
  CHECK(data.in_order().batches(64).size() == 1);
  const OrderedRows in_order = data.in_order();
  CHECK(in_order.order().empty());
}

TEST_CASE("a shuffled epoch holds every row once with its own label, without copying a row") {
  const Dataset data = numbered(1000);
  std::vector<int> seen(1000);
  for (auto batch : data.shuffled(Seed{1}, 0).batches<64>()) {  // temporaries: the range keeps the order alive
    for (std::int64_t i = 0; i < batch.rows; ++i) {
      const auto row = static_cast<int>(batch.input(i)[0]);
      REQUIRE(batch.input(i) == data.images().data() + 2 * row);
      REQUIRE(*batch.target(i) == row % 3);
      ++seen[static_cast<std::size_t>(row)];
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("a batch outlives the data set, the order and the range that gave it, and so do its slices") {
  const auto first = *numbered(7).shuffled(Seed{1}, 2).batches<4>().begin();
  const auto last = (*std::next(numbered(7).shuffled(Seed{1}, 2).batches(4).begin())).slice(1, 2);
  const auto as_they_lie = *numbered(7).in_order().batches<7>().begin();
  const Dataset data = numbered(7);
  const OrderedRows shuffled = data.shuffled(Seed{1}, 2);
  for (std::int64_t i = 0; i < first.rows; ++i) CHECK(first.input(i)[0] == static_cast<float>(shuffled.order()[static_cast<std::size_t>(i)]));
  for (std::int64_t i = 0; i < last.rows; ++i) CHECK(last.input(i)[0] == static_cast<float>(shuffled.order()[static_cast<std::size_t>(i + 5)]));
  for (std::int64_t i = 0; i < 7; ++i) CHECK((as_they_lie.input(i)[0] == static_cast<float>(i) && *as_they_lie.target(i) == i % 3));
}

TEST_CASE("an order can outlive the data set it was asked from") {
  Batches batches = numbered(7).shuffled(Seed{1}, 2).batches(3);
  float sum = 0;
  for (const auto& batch : batches)
    for (std::int64_t i = 0; i < batch.rows; ++i) sum += batch.input(i)[0];
  CHECK(sum == 21);
}

TEST_CASE("seed and epoch alone decide the order") {
  CHECK(shuffled_order(Seed{1}, 0, 100) == shuffled_order(Seed{1}, 0, 100));
  CHECK(shuffled_order(Seed{1}, 0, 100) != shuffled_order(Seed{1}, 1, 100));
  CHECK(shuffled_order(Seed{1}, 0, 100) != shuffled_order(Seed{2}, 0, 100));
  CHECK(shuffled_order(Seed{1}, 0, 1) == std::vector<std::uint32_t>{0});
  CHECK(shuffled_order(Seed{1}, 0, 0).empty());
  // Five rows worked out by hand from the draws: the last place takes draw 0 mod 5, the one before draw 1 mod 4, and so on.
  std::vector<std::uint32_t> expected{0, 1, 2, 3, 4};
  for (std::uint64_t i = 0; i < 4; ++i) std::swap(expected[4 - i], expected[bits64(Seed{8}, 6, i) % (5 - i)]);
  CHECK(shuffled_order(Seed{8}, 6, 5) == expected);
}

TEST_CASE("all orders are equally likely") {
  std::map<std::vector<std::uint32_t>, int> times;
  constexpr int epochs = 24 * 500;
  for (int epoch = 0; epoch < epochs; ++epoch) ++times[shuffled_order(Seed{4}, epoch, 4)];
  REQUIRE(times.size() == 24);
  double chi_square = 0;
  for (const auto& [order, n] : times) chi_square += (n - 500.0) * (n - 500.0) / 500.0;
  // 23 degrees of freedom: mean 23, standard deviation sqrt(46); five deviations.
  CHECK(chi_square < 23 + 5 * std::sqrt(46.0));
}

TEST_CASE("data that do not fit together are refused") {
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2, 3}, {0}, 2, 3}};
        }) == "[heddle.D07] 3 inputs are no whole rows of 2 features. Fix: give rows x features floats, and the number of features of one row.");
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2, 3, 4}, {0}, 2, 3}};
        }) == "[heddle.D07] 'images' has 2 images but 'labels' has 1 labels. Fix: take both files from the same half of the same data set.");
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2}, {-1}, 2, 3}};
        }) == "[heddle.D08] label -1 of row 0 of 'labels' is not in 0 to 2. Fix: correct the label, or raise the number of classes.");
  CHECK(has(sentence([] { Dataset{LabelledRows{{}, {}, 2, 3}}; }), "[heddle.D10] 'images' holds 0 images"));
  CHECK(has(sentence([] { Dataset{LabelledRows{{1}, {0}, 0, 3}}; }), "[heddle.D11] 'images' has 0 features a row"));
  CHECK(sentence([] { static_cast<void>(numbered(3).in_order().batches(0)); }) ==
        "[heddle.D11] batches of 0 rows were asked for. Fix: give a number of rows of at least 1.");
}

TEST_CASE("a row may have several labels, and every row has as many") {
  const Dataset data{LabelledRows{{1, 2, 3, 4}, {0, 1, 2, 2, 1, 0}, 2, 3, 3}};
  CHECK((data.size() == 2 && data.labels_of_a_row() == 3 && data.labels().size() == 6));
  CHECK(data.all().target(1)[0] == 2);
  CHECK(
      sentence([] {
        Dataset{LabelledRows{{1, 2, 3, 4}, {0, 1, 2, 2, 1}, 2, 3, 3}};
      }) ==
      "[heddle.D07] 'images' has 2 rows but 'labels' has 5 labels, not 3 for each row. Fix: give 3 labels for each row, or another number of them.");
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2, 3, 4}, {0, 1, 2, 2, 3, 0}, 2, 3, 3}};
        }) == "[heddle.D08] label 3 at position 1 of row 1 of 'labels' is not in 0 to 2. Fix: correct the label, or raise the number of classes.");
  CHECK(sentence([] { Dataset{LabelledRows{{1}, {0}, 1, 3, 0}}; }) == "[heddle.D11] 'labels' has 0 labels a row. Fix: give at least 1.");
}

TEST_CASE("real targets that do not fit their inputs are refused in their own words") {
  const auto made = [](RegressionRows rows) { return sentence([&] { RegressionDataset{rows}; }); };
  CHECK(made({{1, 2, 3}, {0}, 2}) ==
        "[heddle.D07] 3 inputs are no whole rows of 2 features. Fix: give rows x features floats, and the number of features of one row.");
  CHECK(made({{1, 2}, {0, 1, 2}, 2, 2}) ==
        "[heddle.D07] 'inputs' has 1 row but 'targets' has 3 targets, not 2 for each row. Fix: give 2 targets for each row, or another number of "
        "them.");
  CHECK(made({{}, {}, 2}) == "[heddle.D10] 'inputs' holds 0 rows: there is nothing to learn from. Fix: give a data set with at least one row.");
  CHECK(made({{1}, {1}, 0}) == "[heddle.D11] 'inputs' has 0 features a row and 'targets' 1 targets. Fix: give at least 1 of each.");
  CHECK(has(made({{1}, {1}, 1, 0}), "[heddle.D11] 'inputs' has 1 features a row and 'targets' 0 targets"));
  CHECK(made({{1, 2}, {1}, 2}) == "nothing was thrown");
}

TEST_CASE("a batch of more rows than any number of rows is the whole data set") {
  const Dataset data = numbered(3);
  const Batches batches = data.in_order().batches(std::numeric_limits<std::int64_t>::max());
  CHECK(batches.size() == 1);
  CHECK(std::distance(batches.begin(), batches.end()) == 1);
  CHECK((*batches.begin()).rows == 3);
}
