// SPDX-License-Identifier: MIT
// Room: graph. A leaf's name as it is written in a model: Linear<784, 50>.
// Sees: core/text.  Does not see: policies, devices, memory.
// In: the kind and its sizes.  Out: the text that errors and reports show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/text.hpp"

namespace heddle::graph_room {

/// Digits without groups: inside angle brackets a comma would be one more size.
template <int Capacity> constexpr void write_digits(Text<Capacity>& text, std::int64_t number) {
  char digits[20]{};
  int first = 20;
  auto rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  do digits[--first] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0) text << '-';
  text << std::string_view{digits + first, static_cast<std::size_t>(20 - first)};
}

template <int Capacity> constexpr void write_word(Text<Capacity>& text, std::int64_t number) { write_digits(text, number); }
template <int Capacity> constexpr void write_word(Text<Capacity>& text, std::string_view word) { text << word; }

/// spelled("Linear", 784, 50) is "Linear<784, 50>"; words such as "NoBias" may stand among the sizes.
///
/// Tested  graph/spelled_test
template <class... Part> [[nodiscard]] constexpr Text<64> spelled(std::string_view kind, const Part&... parts) {
  Text<64> text{kind};
  text << '<';
  int written = 0;
  const auto comma = [&] {
    if (written++ > 0) text << ", ";
  };
  ((comma(), write_word(text, parts)), ...);
  return text << '>';
}

}  // namespace heddle::graph_room
