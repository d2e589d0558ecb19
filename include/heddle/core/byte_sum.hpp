// SPDX-License-Identifier: MIT
// Room: core. A sum of bytes by which files and names that differ are told apart, and its digits.
// Sees: core/host_device.  Does not see: every other room.
// In: bytes, or the letters of a name.  Out: byte_sum, sixteen_digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/core/host_device.hpp"

namespace heddle::core_room {

/// FNV-1a: of "a" 0xaf63dc4c8601ec8c. It finds accidents, and nobody who means it.
///
/// Tested  core/byte_sum_test
[[nodiscard]] HEDDLE_COLD inline std::uint64_t byte_sum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return sum;
}
[[nodiscard]] HEDDLE_COLD inline std::uint64_t byte_sum(std::string_view letters) { return byte_sum(std::as_bytes(std::span{letters})); }
/// In hexadecimal, all of them: "000000000000002a" of 42.
[[nodiscard]] HEDDLE_COLD inline std::string sixteen_digits(std::uint64_t number) {
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); number != 0; number /= 16, ++digit) *digit = "0123456789abcdef"[number % 16];
  return digits;
}

}  // namespace heddle::core_room
