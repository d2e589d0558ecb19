// SPDX-License-Identifier: MIT
// Room: core. bfloat16 as bits: a float32 without its lower 16, rounded to the nearest, ties to even.
// Sees: core/finite.  Does not see: every other room.
// In: floats.  Out: BFloat16, rounded, widened.
#pragma once

#include <cstdint>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"

namespace heddle::core_room {

/// 8 bits of exponent, as float32 has, and 7 of fraction: 1 + 2^-8 is rounded to 1, and 3.4e38 overflows to infinity, which float32 does
/// from 3.403e38 on.
///
/// Source  sources.md#bfloat16
/// Tested  core/bfloat16_test
struct BFloat16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(const BFloat16&, const BFloat16&) = default;
};

/// To the nearest, ties to even; NaN stays NaN.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr BFloat16 rounded(const float& number) {
  const std::uint32_t bits = bits_of(number);
  if (is_nan(number)) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}
/// Exact.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr float widened(BFloat16 number) { return __builtin_bit_cast(float, std::uint32_t{number.bits} << 16U); }

}  // namespace heddle::core_room

namespace heddle {
using core_room::BFloat16;
}  // namespace heddle
