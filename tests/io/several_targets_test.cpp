// SPDX-License-Identifier: MIT
#include "heddle/io/several_targets.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include "heddle/io/token_dataset.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

/// Row r holds r, has the label r % 3 and gets the targets (r + 0.25, r + 0.5).
Dataset ten() {
  LabelledRows made{{}, {}, 1, 3};
  for (int row = 0; row < 10; ++row) {
    made.images.push_back(static_cast<float>(row));
    made.labels.push_back(row % 3);
  }
  return Dataset{made};
}
std::vector<float> values(int rows) {
  std::vector<float> all;
  for (int row = 0; row < rows; ++row) all.insert(all.end(), {static_cast<float>(row) + 0.25F, static_cast<float>(row) + 0.5F});
  return all;
}
template <class Batch> void check_row(const Batch& batch, std::int64_t i) {
  const auto row = static_cast<std::int32_t>(*batch.input(i));
  const auto* const target = batch.target(i);
  CHECK(
      (target[0].label() == row % 3 && target[1].value() == static_cast<float>(row) + 0.25F && target[2].value() == static_cast<float>(row) + 0.5F));
}

}  // namespace

TEST_CASE("a data set with further targets is walked, shuffled and split with all targets of each row") {
  const auto data = with_targets(ten(), values(10), 2);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(data.all())>, Examples<TargetValue>>);
  CHECK((data.size() == 10 && data.features() == 1 && data.targets_of_a_row() == 3));
  for (const auto& batch : data.shuffled(Seed{1}, 2).batches<4>())
    for (std::int64_t i = 0; i < batch.rows; ++i) check_row(batch, i);
  const auto [training, test] = data.split(0.7, Seed{3});
  CHECK((training.size() == 7 && test.size() == 3));
  for (std::int64_t i = 0; i < 3; ++i) check_row(test.all(), i);
  for (const auto& batch : training.batches(3))
    for (std::int64_t i = 0; i < batch.rows; ++i) check_row(batch, i);
}

TEST_CASE("a part is given the rows of the whole and has its own") {
  const Parts<Dataset> parts = ten().split(0.7, Seed{3});
  const auto data = with_targets(parts.test, values(10), 2);
  REQUIRE(data.size() == 3);
  for (std::int64_t i = 0; i < 3; ++i) check_row(data.all(), i);
  CHECK(
      sentence([&] { static_cast<void>(with_targets(parts.test, values(3), 2)); }) ==
      "[heddle.D07] the further targets have 6 elements for 10 rows of 2. Fix: give rows x targets elements, and the number of targets of one row.");
}

TEST_CASE("labels join labels, and the targets of a third loss those of two; other inputs stay what they are") {
  const std::vector<std::int32_t> more{4, 5};
  const TokenDataset tokens{TokenRows{{7, 8}, {0, 1}, 1, 2}};
  const auto labelled = with_targets(tokens, more, 1);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(labelled.all())>, Examples<std::int32_t, std::int32_t>>);
  CHECK((labelled.all().target(1)[0] == 1 && labelled.all().target(1)[1] == 5 && *labelled.all().input(1) == 8));
  const auto third = with_targets(labelled, values(2), 2);
  CHECK((third.targets_of_a_row() == 4 && third.all().target(1)[3].value() == 1.5F && third.all().target(0)[1].label() == 4));
}
