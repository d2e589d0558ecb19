// SPDX-License-Identifier: MIT
// Room: core. Random numbers without a state: Philox4x32-10 maps (seed, stream, element) to bits, on host and device.
// Sees: core/units, core/host_device.  Does not see: every other room; in particular no rank, no layout, no order of calls.
// In: Seed, stream (the index of the parameter, the epoch), element (the global index).  Out: uniform, normal, bits64.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"

namespace heddle::core_room {

/// Four words of 32 bits, 16 bytes: the counter that goes into Philox and the block that comes out.
struct PhiloxBlock {
  std::uint32_t words[4]{};
  friend constexpr bool operator==(const PhiloxBlock&, const PhiloxBlock&) = default;
};

/// One block of Philox4x32-10, a bijection of the counter for every key.
///
/// Source  sources.md#philox
/// Tested  core/random_test (the known answers that its authors publish)
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter.words[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter.words[2];
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32);
    counter = PhiloxBlock{{high1 ^ counter.words[1] ^ key0, static_cast<std::uint32_t>(product1), high0 ^ counter.words[3] ^ key1,
                           static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// What a draw is for. Draws of two kinds never share a block, so uniform and normal numbers of one stream are independent.
enum class RandomDraw : std::uint8_t { uniform = 0, normal = 1, bits = 2, mask = 3 };

/// The block of one draw: the key is the seed; the counter is the block's index (62 bits), the kind of draw (2 bits), the stream (64 bits).
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr PhiloxBlock random_block(Seed seed, std::uint64_t stream, RandomDraw kind, std::uint64_t index) {
  const std::uint64_t low = (index & ((std::uint64_t{1} << 62) - 1)) | (static_cast<std::uint64_t>(kind) << 62);
  return philox(PhiloxBlock{{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(stream),
                             static_cast<std::uint32_t>(stream >> 32)}},
                seed.value);
}

/// Uniform in [0, 1): a multiple of 2^-24, so every value is exact in a float and 1 cannot come out by rounding.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr float uniform(Seed seed, std::uint64_t stream, std::uint64_t element) {
  const std::uint32_t word = random_block(seed, stream, RandomDraw::uniform, element / 4).words[element % 4];
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

/// Uniform in [low, high), low < high. In double, where the product is exact for low = -high: with or without fused
/// multiply-add the float is the same.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr float uniform(Seed seed, std::uint64_t stream, std::uint64_t element, float low, float high) {
  const double width = static_cast<double>(high) - static_cast<double>(low);
  const auto value = static_cast<float>(static_cast<double>(low) + width * static_cast<double>(uniform(seed, stream, element)));
  return value < high ? value : low;  // a range narrower than 2^24 steps of its floats can round up to high
}

/// Normal with mean 0 and variance 1 (Box-Muller). An element has a block of its own, so a slice has the bits of the whole.
/// In double, rounded once: the last bits in which mathematics libraries differ do not reach the float, but for about one in 2^28.
///
/// Source  sources.md#box-muller
/// Tested  core/random_test
[[nodiscard]] HEDDLE_HOST_DEVICE inline float normal(Seed seed, std::uint64_t stream, std::uint64_t element) {
  const PhiloxBlock block = random_block(seed, stream, RandomDraw::normal, element);
  const double first = (static_cast<double>(block.words[0]) + 1.0) * 0x1p-32;  // (0, 1]: its logarithm is finite
  const double angle = static_cast<double>(block.words[1]) * 0x1p-32 * 6.283185307179586476925;
  return static_cast<float>(std::sqrt(-2.0 * std::log(first)) * std::cos(angle));
}

/// 64 random bits, as shuffles take them.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint64_t bits64(Seed seed, std::uint64_t stream, std::uint64_t index) {
  const PhiloxBlock block = random_block(seed, stream, RandomDraw::bits, index);
  return block.words[0] | (static_cast<std::uint64_t>(block.words[1]) << 32);
}

/// 32 random bits of an element, as masks take them; four elements share a block.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint32_t mask_bits(Seed seed, std::uint64_t stream, std::uint64_t element) {
  return random_block(seed, stream, RandomDraw::mask, element / 4).words[element % 4];
}
/// Calls visit(i, those bits of element first + i) for the first `count` from there on; each block is drawn once.
template <class Visit> constexpr void each_mask_bits(Seed seed, std::uint64_t stream, std::uint64_t first, std::int64_t count, const Visit& visit) {
  PhiloxBlock block = random_block(seed, stream, RandomDraw::mask, first / 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t at = first + static_cast<std::uint64_t>(i);
    if (at % 4 == 0) block = random_block(seed, stream, RandomDraw::mask, at / 4);
    visit(i, block.words[at % 4]);
  }
}

}  // namespace heddle::core_room
