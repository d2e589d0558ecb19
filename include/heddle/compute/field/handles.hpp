// SPDX-License-Identifier: MIT
// Room: compute. Elements as a kernel of a user holds them in a degree run: signalling NaNs, so that any arithmetic on floats shows.
// Sees: the standard library.  Does not see: elements, programs, threads.
// In: numbers that take the place of elements.  Out: FieldHandles.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "heddle/core/rooms.hpp"

namespace heddle::compute_room {

/// Numbers of a degree run behind floats that only move: the third one is the float with bits 0x7f800003, a signalling NaN. Sums, products and
/// comparisons of such a float raise a flag of the processor, and no result of theirs is a signalling NaN.
///
/// Law     value(of(x)) == x; a float that of() has not made is no handle
/// Tested  compute/field/handles_test
class FieldHandles {
 public:
  [[nodiscard]] static bool may_be(float element) {
    const auto bits = std::bit_cast<std::uint32_t>(element);
    return bits > infinity && bits < first_quiet;
  }
  [[nodiscard]] bool knows(float element) const { return may_be(element) && std::bit_cast<std::uint32_t>(element) - infinity <= values_.size(); }
  [[nodiscard]] std::uint64_t value(float element) const { return values_[std::bit_cast<std::uint32_t>(element) - infinity - 1]; }
  /// There are 4,194,303, and in one call fewer degrees than that.
  [[nodiscard]] float of(std::uint64_t value) {
    const auto [place, is_new] = places_.try_emplace(value, static_cast<std::uint32_t>(values_.size()) + 1);
    if (is_new) values_.push_back(value);
    return std::bit_cast<float>(infinity + place->second);
  }

 private:
  static constexpr std::uint32_t infinity = 0x7f800000, first_quiet = 0x7fc00000;
  std::vector<std::uint64_t> values_;
  std::map<std::uint64_t, std::uint32_t> places_;
};

/// Those of the kernel that this thread is in, or null.
inline thread_local FieldHandles* field_handles = nullptr;

}  // namespace heddle::compute_room
