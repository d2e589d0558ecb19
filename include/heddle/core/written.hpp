// SPDX-License-Identifier: MIT
// Room: core. Words and numbers of one sentence, joined by one function: a chain of operator+ is compiled again wherever it stands.
// Sees: core/host_device.  Does not see: every other room.
// In: {"rank ", 3, " of ", name}.  Out: a std::string.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/host_device.hpp"

namespace heddle::core_room {

/// A part of a sentence: words, which must live as long as the call, a character, or a whole number of any type.
/// The number -42 has size 42 and before '-'; "rank " has size 5 and before 0.
struct Piece {
  const char* words = nullptr;  // null: a number
  std::uint64_t size = 0;       // of the words, or the number without its sign
  char before = 0;              // the sign of a number, or a character that stands alone

  // NOLINTBEGIN(google-explicit-constructor): a sentence is written as a list of what it says.
  constexpr Piece(std::string_view text) : words(text.data() == nullptr ? "" : text.data()), size(text.size()) {}
  constexpr Piece(const char* text) : Piece(std::string_view{text}) {}
  Piece(const std::string& text) : Piece(std::string_view{text}) {}
  constexpr Piece(char alone) : words(""), before(alone) {}
  template <std::integral Number>
  requires(!std::same_as<Number, char> && !std::same_as<Number, bool>) constexpr Piece(Number number)
      : size(std::cmp_less(number, 0) ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number)),
        before(std::cmp_less(number, 0) ? '-' : char{}) {}
  // NOLINTEND(google-explicit-constructor)
};

/// written({"rank ", 3, " of ", 16384}) is "rank 3 of 16384": digits stand together, as std::to_string writes them.
///
/// Tested  core/written_test
[[nodiscard]] HEDDLE_COLD inline std::string written(std::initializer_list<Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    if (piece.before != 0) text.push_back(piece.before);
    if (piece.words != nullptr) {
      text.append(piece.words, static_cast<std::size_t>(piece.size));
      continue;
    }
    char digits[std::numeric_limits<std::uint64_t>::digits10 + 1];
    char* const end = digits + sizeof digits;
    char* first = end;
    std::uint64_t rest = piece.size;
    do *--first = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) > 0);
    text.append(first, static_cast<std::size_t>(end - first));
  }
  return text;
}

}  // namespace heddle::core_room
