// SPDX-License-Identifier: MIT
// Room: core. A number as every sentence and table writes it, in groups of three digits.
// Sees: core/text.  Does not see: every other room.
// In: a whole number.  Out: its digits, as "47,040,016".
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/text.hpp"

namespace heddle::core_room {

/// Digits in groups: 47,040,016; up to 9999 they stand together. Text writes numbers so too; this is for a std::string.
///
/// Tested  core/grouped_digits_test
[[nodiscard]] HEDDLE_COLD inline std::string grouped_digits(std::int64_t number) {
  Text<32> text;
  text << number;
  return std::string{text.view()};
}
[[nodiscard]] HEDDLE_COLD inline std::string grouped_digits(std::uint64_t number) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (number > static_cast<std::uint64_t>(most)) return "more than " + grouped_digits(most);
  return grouped_digits(static_cast<std::int64_t>(number));
}
[[nodiscard]] HEDDLE_COLD inline std::string grouped_digits(int number) { return grouped_digits(std::int64_t{number}); }

}  // namespace heddle::core_room
