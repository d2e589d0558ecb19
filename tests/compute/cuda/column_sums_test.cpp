// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/eigen/arrays.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/column_sums.hpp"

using namespace heddle;
using arrays::Array;
using namespace compute_room;
using on_card::Card;

namespace {

/// Sums over rows and places of (rows, channels, places); `before` is in the target where it is added to.
Array sums(std::int64_t rows, std::int64_t channels, std::int64_t places, const Array& source, const Array* before) {
  Array target{channels, 0, arrays::nan};
  if (before != nullptr) std::memcpy(target.data(), before->data(), static_cast<std::size_t>(channels) * sizeof(float));
  conformance::CardTensors card;
  const CudaMemory space = card.space({});
  const float* const from = card.given(static_cast<const float*>(source.data()), source.elements());
  float* const to = card.made(target.data(), channels);
  void* const scratch = card.scratch(column_sums_scratch(channels).value);
  if (places == 1)
    column_sums(space.queue->stream, rows, channels, from, to, before != nullptr, scratch);
  else
    channel_sums(space.queue->stream, rows, channels, places, from, to, before != nullptr, scratch);
  card.finish();
  CHECK(target.guarded());
  return target;
}

void check(std::int64_t rows, std::int64_t channels, std::int64_t places) {
  CAPTURE(rows);
  CAPTURE(channels);
  CAPTURE(places);
  const Array source{std::max<std::int64_t>(rows * channels * places, 1), 1}, before{channels, 2};
  const Array made = sums(rows, channels, places, source, nullptr), added = sums(rows, channels, places, source, &before);
  CHECK(made.same_bits(sums(rows, channels, places, source, nullptr)));
  int off = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0, magnitudes = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t p = 0; p < places; ++p) {
        const auto x = static_cast<double>(source[(r * channels + c) * places + p]);
        sum += x;
        magnitudes += std::abs(x);
      }
    const double bound = arrays::dot_bound(64, magnitudes + std::abs(static_cast<double>(before[c])));  // partial sums of at most 64 terms
    off += std::abs(static_cast<double>(made[c]) - sum) <= bound ? 0 : 1;
    off += std::abs(static_cast<double>(added[c]) - sum - static_cast<double>(before[c])) <= bound ? 0 : 1;
  }
  CHECK(off == 0);
}

}  // namespace

TEST_CASE("columns of any number, also odd ones, and of any number of rows have their sums, overwritten or added, with the same bits each time") {
  const Card card;
  for (const std::int64_t columns : {1, 2, 3, 4, 8, 33, 128, 132, 515})
    for (const std::int64_t rows : {0, 1, 7, 64, 301}) check(rows, columns, 1);
  check(9000, 4, 1);   // shares of the rows, of packs
  check(9000, 3, 1);   // the same of single columns
  check(700, 260, 1);  // and of several tiles
  check(2, 40000, 1);  // more tiles than a card has room for at once
}

TEST_CASE("channels of images have the sums of their places") {
  const Card card;
  for (const std::int64_t channels : {1, 3, 17})
    for (const std::int64_t places : {2, 49, 300})
      for (const std::int64_t rows : {0, 1, 9}) check(rows, channels, places);
  check(40, 2, 1100);  // shares
  check(3, 1500, 5);
}

TEST_CASE("a NaN spoils its own column") {
  const Card card;
  Array source{600 * 8, 1};
  source[301 * 8 + 5] = arrays::nan;
  const Array made = sums(600, 8, 1, source, nullptr);
  for (std::int64_t c = 0; c < 8; ++c) CHECK(std::isnan(made[c]) == (c == 5));
}

TEST_CASE("scratch is stated for the most shares") {
  CHECK(column_sums_scratch(768) == Bytes{98304});
  for (const std::int64_t columns : {1, 7, 768, 50304})
    for (const std::int64_t rows : {0, 1, 1000, 10000000}) {
      const SumExtents e(rows, columns, columns % 4 == 0);
      CHECK(e.shares >= 1);
      CHECK(Bytes{e.shares * columns * 4} <= column_sums_scratch(columns));
      CHECK(e.tiles * e.lanes * e.width >= columns);
    }
}
