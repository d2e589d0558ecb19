// SPDX-License-Identifier: MIT
// Room: graph. A leaf's name as it is written in a model: Linear<784, 50>.
// Sees: core/text.  Does not see: policies, devices, memory.
// In: the kind and its sizes.  Out: the text that errors and reports show.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/text.hpp"

namespace heddle::inline graph_room {

/// Digits without groups: inside angle brackets a comma would be one more size.
template <int Capacity> constexpr void write_digits(Text<Capacity>& text, std::int64_t number) {
  if (number < 0) text << '-';
  const auto rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  std::uint64_t power = 1;
  while (rest / power >= 10) power *= 10;
  for (; power > 0; power /= 10) text << static_cast<char>('0' + rest / power % 10);
}

template <int Capacity> constexpr void write_word(Text<Capacity>& text, std::int64_t number) { write_digits(text, number); }
template <int Capacity> constexpr void write_word(Text<Capacity>& text, std::string_view word) { text << word; }

/// spelled("Linear", 784, 50) is "Linear<784, 50>"; words such as "NoBias" may stand among the sizes.
///
/// Tested  graph/spelled_test
template <class... Part> [[nodiscard]] constexpr Text<48> spelled(std::string_view kind, const Part&... parts) {
  Text<48> text{kind};
  text << '<';
  int written = 0;
  const auto comma = [&] {
    if (written++ > 0) text << ", ";
  };
  ((comma(), write_word(text, parts)), ...);
  return text << '>';
}

}  // namespace heddle::inline graph_room
