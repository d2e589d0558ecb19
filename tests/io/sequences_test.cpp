// SPDX-License-Identifier: MIT
#include "heddle/io/sequences.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::sentence;

namespace {

std::vector<std::int32_t> counted(int tokens) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TEST_CASE("every row has its tokens and, at each position, the token that follows; a rest that fills no row is left out") {
  const TokenDataset data = next_token_rows(counted(12), 12, {.length = 4});
  REQUIRE(data.size() == 2);  // a third row would need the thirteenth token
  CHECK(data.features() == 4);
  CHECK(data.labels_of_a_row() == 4);
  CHECK(data.classes() == 12);
  const Examples<std::int32_t, std::int32_t> all = data.all();
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK(all.input(row)[i] == 4 * row + i);
      CHECK(all.target(row)[i] == 4 * row + i + 1);
    }
  CHECK(next_token_rows(counted(13), 13, {.length = 4}).size() == 3);
}

TEST_CASE("rows may overlap, and may have the one token after them as their label") {
  const TokenDataset data = next_token_rows(counted(10), 10, {.length = 4, .stride = 1, .predict = Predict::last});
  REQUIRE(data.size() == 6);
  CHECK(data.labels_of_a_row() == 1);
  for (std::int64_t row = 0; row < 6; ++row) {
    CHECK(data.all().input(row)[3] == row + 3);
    CHECK(*data.all().target(row) == row + 4);
  }
  CHECK(next_token_rows(counted(10), 10, {.length = 4, .stride = 3}).all().input(1)[0] == 3);
  CHECK(next_token_rows(counted(5), 5, {.length = 4}).size() == 1);
}

TEST_CASE("what cannot be cut is refused") {
  const auto cut = [](std::vector<std::int32_t> tokens, int vocabulary, Windows windows) {
    return sentence([&] { static_cast<void>(next_token_rows(tokens, vocabulary, windows)); });
  };
  CHECK(cut(counted(4), 4, {.length = 4}) ==
        "[heddle.D10] there are 4 tokens, too few for a row of 4 and the token after it. Fix: give more tokens, or shorter rows.");
  CHECK(cut({}, 4, {.length = 4}).starts_with("[heddle.D10] there are 0 tokens"));
  CHECK(cut({0, 1, 4, 2}, 4, {.length = 2}) ==
        "[heddle.D08] token 4 at position 2 is not in 0 to 3. Fix: correct the token, or raise the vocabulary.");
  CHECK(has(cut({0, -1, 1, 2}, 4, {.length = 2}), "token -1 at position 1"));
  CHECK(cut(counted(4), 4, {}) ==
        "[heddle.D11] tokens of a vocabulary of 4 are to be cut into rows of 0, 0 apart. Fix: give at least 1 of each; 0 apart means the length.");
  CHECK(has(cut(counted(4), 0, {.length = 2}), "[heddle.D11] tokens of a vocabulary of 0"));
  CHECK(has(cut(counted(4), 4, {.length = 2, .stride = -1}), "rows of 2, -1 apart"));
  CHECK(cut(counted(4), (1 << 24) + 1, {.length = 2}) == "nothing was thrown");  // floats could not number them
}
