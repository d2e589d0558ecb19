// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/core/random.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::tests::OneCard;
using on_card::Card;
using Numbers = std::vector<float>;

static_assert(Pack<float>::count == 4 && Pack<std::uint16_t>::count == 8 && Pack<double>::count == 2);
static_assert(sizeof(Pack<float>) == 16 && alignof(Pack<std::uint8_t>) == 16);
static_assert(is_whole_packs(0) && is_whole_packs(8) && !is_whole_packs(9));

namespace {

/// Numbers whose sum depends on the order.
Numbers drawn(std::size_t n, std::uint64_t seed) {
  Numbers numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = uniform(Seed{seed}, 1, i, -1, 1) * (i % 3 == 0 ? 1e4F : 1.0F);
  return numbers;
}
bool equal_bits(const Numbers& a, const Numbers& b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

/// Of each thread the result of its block, and of its warp.
template <class Fold> struct FoldAll {
  static constexpr const char* name = "FoldAll";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, const float* from, float* of_blocks, float* of_warps) const {
    float* const scratch = b.template shared<float>(warp_threads);
    const std::int64_t i = first_of_thread<1>(b);
    of_blocks[i] = block_fold<Fold>(b, from[i], scratch);
    of_warps[i] = warp_fold<Fold>(b, from[i]);
    // The scratch is used again at once, for numbers that are all larger.
    of_blocks[i] += 0 * block_fold<Fold>(b, from[i] + 1e6F, scratch);
  }
};
/// What FoldAll should make: halves of a warp, then the warps one after another.
template <class Fold> Numbers folded(const Numbers& from, std::size_t threads, bool warps_alone) {
  Numbers lanes = from, made(from.size());
  for (std::size_t half = 16; half > 0; half /= 2)
    for (std::size_t warp = 0; warp < lanes.size(); warp += 32)
      for (std::size_t l = 0; l < half; ++l) lanes[warp + l] = Fold::of(lanes[warp + l], lanes[warp + l + half]);
  for (std::size_t block = 0; block < from.size(); block += warps_alone ? 32 : threads) {
    float all = lanes[block];
    for (std::size_t warp = 32; warp < threads && !warps_alone; warp += 32) all = Fold::of(all, lanes[block + warp]);
    std::fill_n(made.begin() + static_cast<std::ptrdiff_t>(block), warps_alone ? 32 : threads, all);
  }
  return made;
}
template <class Fold> bool folds(int threads, std::uint64_t seed) {
  const Card emulated(seed);
  const OneCard card;
  const auto all = static_cast<std::size_t>(3 * threads);
  const Numbers numbers = drawn(all, 7);
  const auto from = card.up(numbers);
  const auto of_blocks = OneCard::unset(all), of_warps = OneCard::unset(all);
  launch<FoldAll<Fold>>(card.stream(), {3, threads, warp_threads * sizeof(float)}, static_cast<const float*>(from.get()), of_blocks.get(),
                        of_warps.get());
  return equal_bits(card.down(of_blocks, all), folded<Fold>(numbers, static_cast<std::size_t>(threads), false)) &&
         equal_bits(card.down(of_warps, all), folded<Fold>(numbers, static_cast<std::size_t>(threads), true));
}

/// to = from in packs, each pack backwards.
template <class T> struct TurnPacks {
  static constexpr const char* name = "TurnPacks";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const T* from, T* to) const {
    constexpr int each = Pack<T>::count;
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const Pack<T> pack = load_pack(from + i);
    Pack<T> turned;
    for (int k = 0; k < each; ++k) turned.values[k] = pack.values[each - 1 - k];
    store_pack(to + i, turned);
  }
};
/// sums (16, 8) of each warp = 1 + left (16, depth) right (8, depth)^T, each lane with its words; and what lane 31 - l of the warp has, of lane l.
template <class Factor> struct MultiplyInWarps {
  static constexpr const char* name = "MultiplyInWarps";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, const float* left, const float* right, float* sums, float* turned) const {
    const int warp = b.thread() / warp_threads, lane = b.thread() % warp_threads, g = lane / 4, t = lane % 4;
    const auto word = [](const float* row, int w) {
      if constexpr (std::is_same_v<Factor, TensorFloat>)
        return tensor_float(row[w]);
      else
        return bfloat16_pair(row[2 * w], row[2 * w + 1]);
    };
    const float* const rows = left + warp * 16 * Factor::depth;
    const float* const columns = right + (warp * 8 + g) * Factor::depth;
    const Factor a[4] = {word(rows + g * Factor::depth, t), word(rows + (g + 8) * Factor::depth, t), word(rows + g * Factor::depth, t + 4),
                         word(rows + (g + 8) * Factor::depth, t + 4)};
    const Factor c[2] = {word(columns, t), word(columns, t + 4)};
    float own[4] = {1, 1, 1, 1};
    b.add_product(own, a, c);
    for (int i = 0; i < 4; ++i) sums[warp * 128 + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = own[i];
    turned[b.thread()] = b.shuffle_from(own[0], 31 - lane);
  }
};
/// to = how far two arrays of 5 floats lie from a multiple of 16 bytes, and from each other, and what a lane finds 3 behind itself; counts the
/// threads.
struct AskBlock {
  static constexpr const char* name = "AskBlock";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t* places, float* behind, float* threads) const {
    float* const first = b.template shared<float>(5);
    float* const second = b.template shared<float>(5);
    if (b.thread() == 0) {
      first[0] = second[4] = 1;
      places[3 * b.index()] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % 16);
      places[3 * b.index() + 1] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(second) % 16);
      places[3 * b.index() + 2] = second - first >= 5 || first - second >= 5 ? 1 : 0;
    }
    behind[first_of_thread<1>(b)] = b.shuffle_down(static_cast<float>(b.thread()), 3);
    b.atomic_add(threads, 1);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("every thread has the result of its block and of its warp, in an order that the number of threads alone decides", Fold,
                   compute_room::Sum, Most) {
  for (const int threads : {32, 64, 96, 256, 1024}) {
    CAPTURE(threads);
    CHECK(folds<Fold>(threads, 1));
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) CHECK(folds<Fold>(160, seed));
}

TEST_CASE("sums of a block are near those in double") {
  for (std::size_t threads = 32; threads <= 1024; threads += 32) {
    const Numbers numbers = drawn(threads, threads);
    double sum = 0, size = 0;
    for (const float x : numbers) {
      sum += static_cast<double>(x);
      size += std::abs(static_cast<double>(x));
    }
    // 5 roundings in a warp and one for each further warp.
    CHECK(std::abs(static_cast<double>(folded<compute_room::Sum>(numbers, threads, false)[0]) - sum) <= 36 * 0x1p-24 * size);
  }
}

TEST_CASE_TEMPLATE("16 bytes are one load and one store, of whatever type", T, float, std::uint16_t, std::uint8_t, double) {
  const Card emulated;
  const OneCard card;
  const std::int64_t n = 300 * Pack<T>::count;
  std::vector<T> numbers(static_cast<std::size_t>(n)), turned = numbers;
  for (std::int64_t i = 0; i < n; ++i) {
    numbers[static_cast<std::size_t>(i)] = static_cast<T>(i % 251);
    turned[static_cast<std::size_t>(i / Pack<T>::count * Pack<T>::count + Pack<T>::count - 1 - i % Pack<T>::count)] = static_cast<T>(i % 251);
  }
  const auto from = card.up(numbers);
  const auto to = OneCard::unset<T>(numbers.size());
  launch<TurnPacks<T>>(card.stream(), extents_of(n, Pack<T>::count), n, static_cast<const T*>(from.get()), to.get());
  CHECK(card.down(to, numbers.size()) == turned);
}

TEST_CASE_TEMPLATE("a warp multiplies 16 rows by 8 columns, of factors that are rounded and sums that are not", Factor, TensorFloat, BFloat16Pair) {
  const auto round = [](float x) {
    return static_cast<double>(std::is_same_v<Factor, TensorFloat> ? std::bit_cast<float>(tensor_float(x).bits) : widened(rounded(x)));
  };
  constexpr std::size_t depth = Factor::depth, warps = 3;
  Numbers left(warps * 16 * depth), right(warps * 8 * depth);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = uniform(Seed{3}, 1, i, -1, 1);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = uniform(Seed{3}, 2, i, -1, 1);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Card emulated(seed);
    const OneCard card;
    const auto from = card.up(left), by = card.up(right);
    const auto sums = OneCard::unset(warps * 128), turned = OneCard::unset(warps * 32);
    launch<MultiplyInWarps<Factor>>(card.stream(), {1, warps * 32}, static_cast<const float*>(from.get()), static_cast<const float*>(by.get()),
                                    sums.get(), turned.get());
    const Numbers found = card.down(sums, warps * 128), across = card.down(turned, warps * 32);
    for (std::size_t i = 0; i < found.size(); ++i) {
      double sum = 1;
      for (std::size_t k = 0; k < depth; ++k) sum += round(left[i / 8 * depth + k]) * round(right[(i / 128 * 8 + i % 8) * depth + k]);
      CHECK(std::abs(static_cast<double>(found[i]) - sum) <= static_cast<double>(depth + 2) * 0x1p-24 * static_cast<double>(depth + 1));
    }
    for (std::size_t i = 0; i < across.size(); ++i) {
      const std::size_t lane = 31 - i % 32;
      CHECK(across[i] == found[i / 32 * 128 + lane / 4 * 8 + 2 * (lane % 4)]);
    }
  }
}

TEST_CASE("factors are rounded to the nearest, TF32 away from 0 and bfloat16 to the even one") {
  const auto tf32 = [](float x) { return std::bit_cast<float>(tensor_float(x).bits); };
  CHECK(tf32(1 + 0x1p-11F) == 1 + 0x1p-10F);
  CHECK(tf32(-1 - 0x1p-11F) == -1 - 0x1p-10F);
  CHECK(tf32(1 + 0x1p-12F) == 1);
  CHECK(tf32(0x1.fffffep+127F) == INFINITY);
  CHECK(tf32(-INFINITY) == -INFINITY);
  CHECK(std::isnan(tf32(std::bit_cast<float>(0x7F800001U))));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const float x = uniform(Seed{5}, 1, i, -1, 1);
    CHECK(std::abs(tf32(x) - x) <= 0x1p-11F * std::abs(x));
    CHECK(tf32(tf32(x)) == tf32(x));
  }
  CHECK(bfloat16_pair(1, 2).bits == 0x40003F80);
  CHECK(bfloat16_pair(1 + 0x1p-8F, 1 + 0x3p-8F).bits == 0x3F823F80);
}

TEST_CASE("shared arrays begin at multiples of 16 bytes, a lane whose neighbour is in no warp has its own number, and counts lose no thread") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Card emulated(seed);
    const OneCard card;
    const auto places = OneCard::unset<std::int64_t>(6);
    const auto behind = OneCard::unset(128), threads = card.up(1, 0.0F);
    launch<AskBlock>(card.stream(), {2, 64, 64}, places.get(), behind.get(), threads.get());
    CHECK(card.down(places, 6) == std::vector<std::int64_t>{0, 0, 1, 0, 0, 1});
    CHECK(card.down(threads, 1) == Numbers{128});
    const Numbers found = card.down(behind, 128);
    for (int i = 0; i < 128; ++i) CHECK(found[static_cast<std::size_t>(i)] == static_cast<float>(i % 32 + 3 < 32 ? i % 64 + 3 : i % 64));
  }
}
