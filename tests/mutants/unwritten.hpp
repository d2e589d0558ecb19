// SPDX-License-Identifier: MIT
// Room: tests. The bits of memory that nobody has written, and of what is in flight.
// Sees: the standard library.  Does not see: every other room.
// In: -.  Out: unwritten_bits, unwritten, is_unwritten.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace heddle::tests {

inline constexpr std::uint32_t unwritten_bits = 0x7fc0dead;
[[nodiscard]] inline float unwritten() { return std::bit_cast<float>(unwritten_bits); }
[[nodiscard]] inline bool is_unwritten(float value) { return std::isnan(value); }

}  // namespace heddle::tests
