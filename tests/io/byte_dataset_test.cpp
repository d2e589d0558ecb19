// SPDX-License-Identifier: MIT
#include "heddle/io/byte_dataset.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::sentence;

namespace {

ByteRows four() { return {{0, 129, 2, 131, 4, 133, 6, 255}, {1, 3, 5, 7}, 2, 8}; }

}  // namespace

TEST_CASE("bytes are handed out as they are, in order, shuffled and in batches") {
  const ByteDataset data{four()};
  CHECK(data.size() == 4);
  CHECK(data.features() == 2);
  CHECK(data.classes() == 8);
  CHECK(data.labels_of_a_row() == 1);
  CHECK(std::vector<std::uint8_t>{data.bytes().begin(), data.bytes().end()} == four().bytes);
  CHECK(std::vector<std::int32_t>{data.labels().begin(), data.labels().end()} == four().labels);
  static_assert(std::is_same_v<decltype(data.all()), Examples<std::int32_t, std::uint8_t>>);
  const auto shuffled = data.shuffled(Seed{1}, 2).all();
  for (std::int64_t row = 0; row < 4; ++row) {
    CHECK(data.all().input(row)[1] == (row == 3 ? 255 : 129 + 2 * row));
    CHECK(*shuffled.target(row) == shuffled.input(row)[0] + 1);  // a row keeps its label
  }
  int rows = 0;
  for (const auto& batch : data.batches<3>()) {
    CHECK(batch.input(0)[0] == 2 * rows);
    rows += static_cast<int>(batch.rows);
  }
  CHECK(rows == 4);
}

TEST_CASE("the parts of a split share the rows, and outlive the whole") {
  const auto [training, test] = ByteDataset{four()}.split(0.5, Seed{3});
  CHECK(training.size() == 2);
  CHECK(test.size() == 2);
  std::int64_t sum = 0;
  for (const ByteDataset& part : {training, test})
    for (std::int64_t row = 0; row < 2; ++row) sum += part.all().input(row)[0];
  CHECK(sum == 0 + 2 + 4 + 6);
  CHECK(sentence([&part = training] { static_cast<void>(part.bytes()); }).starts_with("[heddle.D32]"));
}

TEST_CASE("what is no data set is refused by name") {
  const auto refused = [](ByteRows rows) { return sentence([&] { ByteDataset{std::move(rows), "photos", "kinds"}; }); };
  ByteRows rows = four();
  rows.labels.pop_back();
  CHECK(refused(rows) == "[heddle.D07] 'photos' has 4 rows but 'kinds' has 3 labels. Fix: give as many labels as rows.");
  rows = four();
  rows.labels[2] = 8;
  CHECK(refused(rows) == "[heddle.D08] label 8 of row 2 of 'kinds' is not in 0 to 7. Fix: correct the label, or raise the number of classes.");
  CHECK(refused({{}, {}, 2, 8}).starts_with("[heddle.D10]"));
  rows = four();
  rows.features = 0;
  CHECK(refused(rows).starts_with("[heddle.D11]"));
}
