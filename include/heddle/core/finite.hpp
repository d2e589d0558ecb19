// SPDX-License-Identifier: MIT
// Room: core. Which floats are numbers: asked of their bits, since under -ffast-math every other question is answered with yes.
// Sees: core.  Does not see: every other room.
// In: a float or a double.  Out: is_finite, is_nan.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/host_device.hpp"

namespace heddle::core_room {

/// Whether the compiler was told that there is neither NaN nor infinity, as -ffast-math does.
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
inline constexpr bool finite_math_only = true;
#else
inline constexpr bool finite_math_only = false;
#endif

/// The bits of a number. clang 19 takes arguments, results and sums for finite under -ffast-math and draws conclusions for their bits, too; the empty
/// assembly hides from it where the bits come from.
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint32_t bits_of(const float& number) {
  auto bits = __builtin_bit_cast(std::uint32_t, number);
#if !defined(__CUDA_ARCH__)
  if (finite_math_only && !std::is_constant_evaluated()) asm("" : "+r"(bits));
#endif
  return bits;
}
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint64_t bits_of(const double& number) {
  auto bits = __builtin_bit_cast(std::uint64_t, number);
#if !defined(__CUDA_ARCH__)
  if (finite_math_only && !std::is_constant_evaluated()) asm("" : "+r"(bits));
#endif
  return bits;
}

/// Neither NaN nor infinite: not all bits of the exponent are set.
///
/// Tested  core/finite_test, equivalence/fast_math_test
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool is_finite(const float& number) { return (bits_of(number) & 0x7f800000U) != 0x7f800000U; }
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool is_finite(const double& number) {
  return (bits_of(number) & 0x7ff0000000000000U) != 0x7ff0000000000000U;
}
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool is_nan(const float& number) { return (bits_of(number) & 0x7fffffffU) > 0x7f800000U; }
[[nodiscard]] HEDDLE_HOST_DEVICE constexpr bool is_nan(const double& number) { return (bits_of(number) & 0x7fffffffffffffffU) > 0x7ff0000000000000U; }

}  // namespace heddle::core_room
