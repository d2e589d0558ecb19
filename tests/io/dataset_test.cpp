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
        }) == "[heddle.D07] 3 inputs are no whole rows of 2 features. Fix: give rows x features inputs, and the number of features of one row.");
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2, 3, 4}, {0}, 2, 3}};
        }) == "[heddle.D07] 'images' has 2 rows but 'labels' has 1 label. Fix: give as many labels as rows.");
  CHECK(sentence([] {
          Dataset{LabelledRows{{1, 2}, {-1}, 2, 3}};
        }) == "[heddle.D08] label -1 of row 0 of 'labels' is not in 0 to 2. Fix: correct the label, or raise the number of classes.");
  CHECK(has(sentence([] { Dataset{LabelledRows{{}, {}, 2, 3}}; }), "[heddle.D10] 'images' holds 0 rows"));
  CHECK(has(sentence([] { Dataset{LabelledRows{{1}, {0}, 0, 3}}; }), "[heddle.D11] 'images' has 0 features a row"));
  CHECK(sentence([] { static_cast<void>(numbered(3).in_order().batches(0)); }) ==
        "[heddle.D11] batches of 0 rows were asked for. Fix: give a number of rows of at least 1.");
}

TEST_CASE("a split gives every row to one of two parts, by the seed alone, and copies none") {
  const Dataset whole = numbered(10);
  const auto [training, test] = whole.split(0.8, Seed{1});
  const auto rows_of = [&](const Examples<std::int32_t>& all) {
    std::vector<int> rows;
    for (std::int64_t i = 0; i < all.rows; ++i) {
      rows.push_back(static_cast<int>(all.input(i)[0]));
      CHECK((all.input(i) == whole.images().data() + 2 * rows.back() && *all.target(i) == rows.back() % 3));
    }
    return rows;
  };
  const std::vector<int> first = rows_of(training.all());
  const std::vector<int> second = rows_of(test.all());
  CHECK((first.size() == 8 && training.size() == 8 && second.size() == 2 && test.size() == 2 && training.classes() == 3 && test.features() == 2));
  CHECK((std::is_sorted(first.begin(), first.end()) && std::is_sorted(second.begin(), second.end())));
  std::vector<int> both = first;
  both.insert(both.end(), second.begin(), second.end());
  std::sort(both.begin(), both.end());
  CHECK(both == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(rows_of(training.in_order().all()) == first);
  const OrderedRows ordered = training.in_order();
  CHECK(ordered.order().size() == 8);
  std::vector<int> shuffled = rows_of(training.shuffled(Seed{2}, 3).all());
  CHECK(shuffled != first);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == first);
  std::vector<std::int64_t> sizes;
  for (const auto& batch : training.batches<3>()) sizes.push_back(batch.rows);
  CHECK(sizes == std::vector<std::int64_t>{3, 3, 2});
  CHECK(rows_of(whole.split(0.8, Seed{1}).test.all()) == second);
  const auto tests_of = [](Seed seed) {
    const auto all = numbered(1000).split(0.5, seed).test.all();
    std::vector<float> rows;
    for (std::int64_t i = 0; i < all.rows; ++i) rows.push_back(all.input(i)[0]);
    return rows;
  };
  CHECK((tests_of(Seed{1}) == tests_of(Seed{1}) && tests_of(Seed{1}) != tests_of(Seed{2})));
  const auto [fitted, checked] = training.split(0.75, Seed{1});  // a part splits as the whole does
  std::vector<int> again = rows_of(fitted.all());
  for (const int row : rows_of(checked.all())) again.push_back(row);
  std::sort(again.begin(), again.end());
  CHECK((fitted.size() == 6 && again == first));
  const auto real = RegressionDataset{RegressionRows{{1, 2, 3, 4}, {5, 6, 7, 8}, 1}}.split(0.5, Seed{1});
  CHECK((real.training.size() == 2 && real.test.size() == 2 && *real.test.all().target(0) == *real.test.all().input(0) + 4));
}

TEST_CASE("a split that leaves a part without rows is refused, and so is the array of a part") {
  const Dataset data = numbered(10);
  CHECK(sentence([&] { static_cast<void>(data.split(0.01, Seed{1})); }) ==
        "[heddle.D10] a split of 10 rows at 0.01 leaves a part without rows. Fix: give a share between 0 and 1 that leaves a row in each part, as "
        "0.8 of 10 does.");
  for (const double share : {-1.0, 0.0, 1.0, 0.99, 80.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK(has(sentence([&] { static_cast<void>(data.split(share, Seed{1})); }), "leaves a part without rows. Fix: give a share"));
  CHECK(has(sentence([] { static_cast<void>(numbered(1).split(0.5, Seed{1})); }),
            "[heddle.D10] a split of 1 row at 0.5 leaves a part without rows. "
            "Fix: give at least 2 rows."));
  const auto parts = data.split(0.5, Seed{1});
  CHECK(sentence([&] { static_cast<void>(parts.test.images()); }) ==
        "[heddle.D32] a part of a data set has no array of its own, because it shares the rows of the whole. Fix: read row i as part.all().input(i) "
        "and part.all().target(i).");
  CHECK(has(sentence([&] { static_cast<void>(parts.training.labels()); }), "[heddle.D32]"));
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
        "[heddle.D07] 3 inputs are no whole rows of 2 features. Fix: give rows x features inputs, and the number of features of one row.");
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

TEST_CASE("a label that is ignored is no class, and the only one that may lie outside") {
  const datasets::Dataset data{{.images = {1, 2, 3}, .labels = {0, -100, 1}, .features = 1, .classes = 2, .ignored = -100}};
  CHECK(data.labels()[1] == -100);
  CHECK_THROWS_AS((datasets::Dataset{{.images = {1, 2, 3}, .labels = {0, -99, 1}, .features = 1, .classes = 2, .ignored = -100}}), Error);
  CHECK_THROWS_AS((datasets::Dataset{{.images = {1, 2, 3}, .labels = {0, -100, 1}, .features = 1, .classes = 2}}), Error);
}
