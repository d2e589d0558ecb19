// SPDX-License-Identifier: MIT
// Walking and shuffling are tested with class labels in dataset_test; here is what real targets, several labels a row and plans add.
#include "heddle/io/ordered_rows.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include "heddle/io/dataset.hpp"

using namespace heddle;

static_assert(std::is_same_v<OrderedRows, decltype(std::declval<Dataset>().in_order())>);
static_assert(std::is_same_v<RowsInOrder<float>, decltype(std::declval<RegressionDataset>().shuffled(Seed{1}, 0))>);

namespace {

/// Row r holds (r, r + 0.5) and has the targets (2 r, 2 r + 1, 2 r + 2).
RegressionDataset doubled(int rows) {
  RegressionRows made{{}, {}, 2, 3};
  for (int row = 0; row < rows; ++row) {
    for (const float input : {0.0F, 0.5F}) made.inputs.push_back(static_cast<float>(row) + input);
    for (const float target : {0.0F, 1.0F, 2.0F}) made.targets.push_back(2 * static_cast<float>(row) + target);
  }
  return RegressionDataset{made};
}

}  // namespace

TEST_CASE("real targets are walked and shuffled as class labels are: every row once, with all of its targets") {
  const RegressionDataset data = doubled(10);
  CHECK(data.size() == 10);
  CHECK(data.features() == 2);
  CHECK(data.targets_of_a_row() == 3);
  CHECK((data.inputs().size() == 20 && data.targets().size() == 30));
  float sum = 0;
  for (const auto& batch : data.shuffled(Seed{1}, 3).batches<4>()) {
    CHECK(batch.target_features == 3);
    for (std::int64_t i = 0; i < batch.rows; ++i) {
      CHECK(batch.target(i)[2] == 2 * batch.input(i)[0] + 2);
      sum += batch.input(i)[0];
    }
  }
  CHECK(sum == 45);
  const RowsInOrder<float> shuffled = data.shuffled(Seed{1}, 3);
  CHECK(std::vector<std::uint32_t>(shuffled.order().begin(), shuffled.order().end()) == shuffled_order(Seed{1}, 3, 10));
}

TEST_CASE("a data set gives the batches of its rows as they lie, and all of them as one") {
  const RegressionDataset data = doubled(10);
  CHECK(data.batches<4>().size() == 3);
  CHECK(data.batches(5).size() == 2);
  CHECK((*data.batches<4>().begin()).order == nullptr);
  CHECK(data.all().rows == 10);
  const Examples<float> kept = doubled(3).all();  // the data set is gone, its rows are not
  CHECK(kept.target(2)[0] == 4);
}

TEST_CASE("a data set with one more input gives the same rows of each, shuffled and in parts") {
  std::vector<std::int32_t> numbers(20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  const auto check = [](const RegressionDataset& data) {
    std::int64_t seen = 0;
    for (const auto& batch : data.shuffled(Seed{1}, 3).batches<4>())
      for (std::int64_t i = 0; i < batch.rows; ++i, ++seen) {
        REQUIRE((batch.more.count == 1 && batch.more.all[0].features == 2));
        const auto* const more = static_cast<const std::int32_t*>(batch.more.all[0].data) + 2 * batch.source_row(i);
        CHECK(static_cast<float>(more[0]) == 2 * batch.input(i)[0]);
        CHECK(more[1] == more[0] + 1);
      }
    CHECK(seen == data.size());
  };
  const RegressionDataset whole = with_input(doubled(10), numbers, 2);
  check(whole);
  check(with_input(doubled(10), std::vector<std::int32_t>{numbers}, 2));  // kept
  const auto [training, test] = whole.split(0.7, Seed{5});
  check(training);
  check(test);
  check(with_input(doubled(10).split(0.5, Seed{5}).test, numbers, 2));
  CHECK_THROWS_AS((void)with_input(doubled(10), std::vector<float>(18), 2), Error);
  const auto part = doubled(10).split(0.5, Seed{5});  // rows are those of the whole, also where a part has none of the last, or fewer
  for (const std::size_t wrong : {10, 18, 22, 40}) {
    CHECK_THROWS_AS((void)with_input(part.training, std::vector<float>(wrong), 2), Error);
    CHECK_THROWS_AS((void)with_input(part.test, std::vector<float>(wrong), 2), Error);
  }
}
