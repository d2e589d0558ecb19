// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/values.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/core/random.hpp"

using namespace heddle;
using namespace compute_room;
using core_room::rounded, core_room::widened;
using cuda_emulator::tests::OneCard;
using on_card::Card;

static_assert(sizeof(ValuesTogether<float, 4>) == 16 && sizeof(ValuesTogether<BFloat16, 4>) == 8 && sizeof(ValuesTogether<BFloat16, 8>) == 16);
static_assert(alignof(ValuesTogether<BFloat16, 4>) == 8 && Pack<BFloat16>::count == 8);

namespace {

/// to = 1 + from / 3, two elements beside each other read as one where they can be; what is outside stays.
template <class Value, int each> struct ThirdAndOne {
  static constexpr const char* name = "ThirdAndOne";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> x;
    NumbersOfThread<each> sum;
    x.load(from + i, n - i);
    sum.fill(1);
    for (float& value : x.values) value /= 3;
    sum.add(x);
    sum.store(to + i, n - i);
  }
};

std::vector<BFloat16> drawn(std::size_t n) {
  std::vector<BFloat16> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = rounded(uniform(Seed{4}, 1, i, -5.0F, 5.0F));
  return values;
}
template <int each> std::vector<BFloat16> made(const OneCard& card, const std::vector<BFloat16>& from, std::int64_t n, int shift) {
  const auto there = card.up(from), to = card.up(std::vector<BFloat16>(from.size(), rounded(-1)));
  launch<ThirdAndOne<BFloat16, each>>(card.stream(), extents_of(n, each, 32), n, static_cast<const BFloat16*>(there.get() + shift), to.get() + shift);
  return card.down(to, from.size());
}
/// Notes how many elements a thread has, by its own number.
template <class Value, int each> struct NoteEach {
  static constexpr const char* name = "NoteEach";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, float* to) const {
    if (first_of_thread<each>(b) == 0) to[0] = static_cast<float>(n * 10 + each);
  }
};
template <class Value> float noted(const OneCard& card, std::int64_t run) {
  const auto to = card.up(1, 0.0F);
  launch_values_in_runs<NoteEach, Value>(card.stream(), run, 2 * run, to.get());
  return card.down(to, 1)[0];
}

}  // namespace

TEST_CASE("bfloat16 of any place and count is read and written as the floats that it stands for, rounded once, and nothing beside it") {
  const Card emulated;
  const OneCard card;
  const std::vector<BFloat16> numbers = drawn(48);
  for (int shift = 0; shift < 9; ++shift)
    for (const std::int64_t n : {1, 7, 8, 9, 31, 38}) {
      CAPTURE(shift);
      CAPTURE(n);
      std::vector<BFloat16> wanted(48, rounded(-1));
      for (std::size_t i = static_cast<std::size_t>(shift); i < static_cast<std::size_t>(shift + n); ++i)
        wanted[i] = rounded(1 + widened(numbers[i]) / 3);
      CHECK(made<8>(card, numbers, n, shift) == wanted);
      CHECK(made<4>(card, numbers, n, shift) == wanted);
      CHECK(made<1>(card, numbers, n, shift) == wanted);
    }
}

TEST_CASE("a value becomes a float and back without a change, and is rounded as everywhere, also to infinity and NaN") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(as_float(value))) continue;
    REQUIRE(as_value<BFloat16>(as_float(value)) == value);
  }
  CHECK(as_value<BFloat16>(1 + 0x1p-8F) == rounded(1));
  CHECK(as_value<BFloat16>(3.4e38F) == rounded(std::numeric_limits<float>::infinity()));
  CHECK(std::isnan(as_float(as_value<BFloat16>(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(as_value<float>(1 + 0x1p-20F) == 1 + 0x1p-20F);
}

TEST_CASE("runs that are whole packs of the type are taken so, others one by one") {
  const Card emulated;
  const OneCard card;
  CHECK(noted<float>(card, 12) == 244);
  CHECK(noted<BFloat16>(card, 12) == 241);
  CHECK(noted<BFloat16>(card, 16) == 328);
  CHECK(noted<float>(card, 3) == 61);
}

TEST_CASE("an address of a call stands for values of another type") {
  float place = 0;
  const float* const read = &place;
  static_assert(std::is_same_v<decltype(values_at<BFloat16>(read)), const BFloat16*>);
  static_assert(std::is_same_v<decltype(values_at<float>(&place)), float*>);
  CHECK(static_cast<const void*>(values_at<BFloat16>(read)) == &place);
}
