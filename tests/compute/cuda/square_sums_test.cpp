// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/square_sums.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/core/random.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::tests::OneCard;
using on_card::Card;
using Numbers = std::vector<float>;
using Lines = std::vector<LineRange>;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

/// Numbers of both signs and many sizes, so that the sum of their squares depends on the order.
Numbers drawn(std::int64_t n, std::uint64_t seed) {
  Numbers numbers(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::ldexp(uniform(Seed{seed}, 1, i, -1, 1), static_cast<int>(bits64(Seed{seed}, 2, i) % 16) - 8);
  return numbers;
}
bool equal_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }
std::int32_t lines_of(const Numbers& values) { return static_cast<std::int32_t>(values.size()) / 16; }
Lines all_of(const Numbers& values) { return {{0, lines_of(values)}}; }

/// The sum on the card, behind `before`.
float made(const Numbers& values, int parts, const Lines& counted, float before = no_number) {
  const OneCard card;
  const auto there = card.up(values), to = card.up(1, before), scratch = OneCard::unset(square_sum_scratch);
  square_sum(card.stream(), static_cast<std::int64_t>(values.size()), parts, there.get(), counted, scratch.get(), to.get(), before == before);
  return card.down(to, 1)[0];
}
float made(const Numbers& values, int parts) { return made(values, parts, all_of(values)); }
double exact(const Numbers& values) {
  double sum = 0;
  for (const float x : values) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum;
}
/// Most roundings on the way of one square: it, a lane's of a share, 2 + 5 of a warp, 8 + 5 of shares, 6 of parts; all are of numbers above 0.
double bound(const SquareShares& cut) { return (1 + static_cast<double>(cut.each / 128) + 26) * 0x1p-24; }

/// Every `each`-th line from line 1 on is odd and does not count.
struct Striped {
  Numbers spoilt, with_zeros;
  Lines counted;
  Striped(const Numbers& values, std::int32_t each, std::int32_t end) : spoilt(values), with_zeros(values) {
    std::int32_t at = 0;
    for (std::int32_t line = 1; line < end; line += each) {
      std::fill_n(spoilt.begin() + line * 16, 16, no_number);
      std::fill_n(with_zeros.begin() + line * 16, 16, 0.0F);
      counted.push_back({at, line});
      at = line + 1;
    }
    counted.push_back({at, lines_of(values)});
  }
};

}  // namespace

TEST_CASE("squares of equal parts are near their sum in double, with the same bits in every order of threads") {
  for (const std::int64_t part : {16, 48, 2048, 2064, 5008, 20'000}) {
    CAPTURE(part);
    const Numbers values = drawn(8 * part, 9);
    float first = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Card emulated(seed);
      const float sum = made(values, 8);
      if (seed == 1) first = sum;
      CHECK(equal_bits(sum, first));
    }
    CHECK(std::abs(static_cast<double>(first) - exact(values)) <= bound(SquareShares(8 * part, 8)) * exact(values));
  }
}

TEST_CASE("a part has the bits that it has among other parts: slices of a unit add up to the whole, along the tree") {
  const Card emulated;
  const Numbers values = drawn(64 * 4112, 3);
  std::vector<float> sums;
  for (int p = 0; p < 64; ++p) sums.push_back(made(Numbers(values.begin() + p * 4112, values.begin() + (p + 1) * 4112), 1));
  for (std::size_t parts = 1; parts <= 64; parts *= 2) {
    CAPTURE(parts);
    CHECK(equal_bits(made(Numbers(values.begin(), values.begin() + static_cast<std::int64_t>(parts) * 4112), static_cast<int>(parts)), sums[0]));
    for (std::size_t p = 0; p < sums.size() / 2; ++p) sums[p] = sums[2 * p] + sums[2 * p + 1];
    sums.resize(std::max<std::size_t>(sums.size() / 2, 1));
  }
}

TEST_CASE("lines that do not count are not read, and the others have the bits that they have beside zeros") {
  const Card emulated;
  const Numbers values = drawn(8 * 5008, 5);
  for (const std::int32_t each : {2, 3, 64, 700}) {
    CAPTURE(each);
    const Striped striped(values, each, lines_of(values));
    CHECK(equal_bits(made(striped.spoilt, 8, striped.counted), made(striped.with_zeros, 8)));
    Lines turned = striped.counted;
    std::reverse(turned.begin(), turned.end());
    CHECK(equal_bits(made(striped.spoilt, 8, turned), made(striped.with_zeros, 8)));
  }
  CHECK(made(Numbers(1024, no_number), 64, {}) == 0.0F);
}

TEST_CASE("a share with more ranges than a launch takes is summed by several, as its part decides") {
  const Card emulated;
  const std::int64_t part = 256 * 4096 + 16;  // shares of 5,120 elements, which are 320 lines
  REQUIRE(SquareShares(part, 1).each == 5120);
  Numbers values = drawn(2 * part, 6);
  const Striped striped(values, 2, 900);
  const double wanted = exact(striped.with_zeros);
  const float whole = made(striped.spoilt, 2, striped.counted);
  CHECK(std::abs(static_cast<double>(whole) - wanted) <= (bound(SquareShares(part, 1)) + 8 * 0x1p-24) * wanted);
  Lines first_half{striped.counted.begin(), striped.counted.end()};
  first_half.back().end = static_cast<std::int32_t>(part / 16);
  const float halves[] = {made(Numbers(striped.spoilt.begin(), striped.spoilt.begin() + part), 1, first_half),
                          made(Numbers(striped.spoilt.begin() + part, striped.spoilt.end()), 1)};
  CHECK(equal_bits(whole, halves[0] + halves[1]));
}

TEST_CASE("a sum is added to what is there, and of large parts no block has more elements than their length asks for") {
  const Card emulated;
  CHECK(made(Numbers(1024, 1.0F), 64, {{0, 64}}, 10.0F) == 1034.0F);
  CHECK(made(Numbers(1024, 1.0F), 1, {{1, 2}, {3, 5}}, 10.0F) == 58.0F);
  const Numbers values(64 * 4096, 1.0F);
  const cuda_emulator::Counts before = cuda_emulator::counts();
  CHECK(made(values, 64) == 64.0F * 4096);
  CHECK(cuda_emulator::counts().kernels - before.kernels == 2);
  CHECK(cuda_emulator::counts().blocks - before.blocks == 128 / 4 + 1);  // 128 shares of 2,048, four a block
  for (const std::int64_t elements : {std::int64_t{1024}, std::int64_t{38'633'472}, std::int64_t{1} << 34}) {
    const SquareShares cut(elements, 64);
    CHECK(cut.shares <= SquareShares::most);
    CHECK(cut.begin(cut.all() - 1) < elements);
    CHECK(cut.end(cut.all() - 1) == elements);
    CHECK(cut.end(cut.shares - 1) == cut.part);
    CHECK(cut.begin(cut.shares % cut.all()) == cut.part % elements);
    CHECK(cut.share_of(cut.begin_line(cut.all() - 1)) == cut.all() - 1);
    CHECK(cut.share_of(cut.begin_line(cut.all() - 1) - 1) == cut.all() - 2);
  }
}

TEST_CASE("a tree of parts adds neighbours first, as the host does") {
  const Card emulated;
  const OneCard card;
  for (int parts = 1; parts <= 64; parts *= 2)
    for (const int threads : {32, 256, 1024}) {
      Numbers sums = drawn(parts, 3);
      const auto there = card.up(sums), to = OneCard::unset(1);
      launch<TreeOfParts>(card.stream(), {1, threads, SquareShares::most_parts * sizeof(float)}, parts, 1, static_cast<const float*>(there.get()),
                          to.get(), false);
      for (std::size_t width = sums.size() / 2; width > 0; width /= 2)
        for (std::size_t p = 0; p < width; ++p) sums[p] = sums[2 * p] + sums[2 * p + 1];
      CHECK(card.down(to, 1) == Numbers{sums[0]});
    }
}
