// SPDX-License-Identifier: MIT
// Room: core. Text that a constant expression can build: names and sentences of rules.
// Sees: the standard library.  Does not see: every other room.
// In: words and numbers.  Out: Text<Capacity>, Name (a template argument).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// A string literal as a template argument: Named<"linear1", Linear<784, 50>>.
template <std::size_t Length> struct Name {
  char chars[Length]{};
  // NOLINTNEXTLINE(google-explicit-constructor): a literal must convert by itself.
  constexpr Name(const char (&literal)[Length]) {
    for (std::size_t i = 0; i < Length; ++i) chars[i] = literal[i];
  }
  [[nodiscard]] constexpr std::string_view view() const { return {chars, Length - 1}; }
};

/// std::string, which this header does not include.
template <class String>
concept OwnsItsCharacters = std::same_as<typename String::value_type, char> && requires(const String& string, const char* from) {
  typename String::traits_type;
  { string.c_str() } -> std::same_as<const char*>;
  String(from, String::npos);
};

/// Text of at most Capacity characters. What does not fit is cut, never written past the end and never in silence: the text then ends in dots and
/// says that it was cut. Text<8>{"embedding"} is "embed...".
template <int Capacity> struct Text {
  char chars[std::size_t{Capacity + 1}]{};
  int length = 0;
  bool cut = false;

  constexpr Text() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a sentence starts as a literal.
  constexpr Text(std::string_view words) { *this << words; }
  // NOLINTNEXTLINE(google-explicit-constructor): a parameter is named by a literal.
  constexpr Text(const char* words) { *this << words; }
  /// A text of another capacity; that it was cut stays known.
  template <int Other>
  requires(Other != Capacity)
      // NOLINTNEXTLINE(google-explicit-constructor): a name is a name, whatever it was written in.
      constexpr Text(const Text<Other>& other) {
    *this << other.view();
    cut = cut || other.cut;
  }

  /// Few steps of a constant expression: models write thousands of names in one.
  constexpr Text& operator<<(std::string_view words) {
    const int size = static_cast<int>(words.size());
    const int kept = size < Capacity - length ? size : Capacity - length;
    const char* const from = words.data();
    for (int i = 0; i < kept; ++i) chars[length + i] = from[i];
    length += kept;
    return kept == size ? *this : end_in_dots();
  }
  constexpr Text& operator<<(const char* words) { return *this << std::string_view{words}; }
  constexpr Text& operator<<(char c) {
    if (length == Capacity) return end_in_dots();
    chars[length++] = c;
    return *this;
  }
  /// Digits are grouped from five digits on: 4096, 39,760.
  constexpr Text& operator<<(std::int64_t number) {
    char digits[32]{};
    int n = 0;
    const bool negative = number < 0;
    auto rest = negative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const bool grouped = rest >= 10000;
    int written = 0;
    do {
      if (grouped && written > 0 && written % 3 == 0) digits[n++] = ',';
      digits[n++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
      ++written;
    } while (rest > 0);
    if (negative) digits[n++] = '-';
    while (n > 0) *this << digits[--n];
    return *this;
  }
  constexpr Text& operator<<(int number) { return *this << static_cast<std::int64_t>(number); }

  [[nodiscard]] constexpr std::string_view view() const { return {chars, static_cast<std::size_t>(length)}; }
  [[nodiscard]] constexpr bool empty() const { return length == 0; }
  /// std::string words = found.words;
  template <OwnsItsCharacters String>
  // NOLINTNEXTLINE(google-explicit-constructor): a text is its characters.
  operator String() const {
    return String(chars, static_cast<std::size_t>(length));
  }
  friend constexpr bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }

 private:
  constexpr Text& end_in_dots() {
    cut = true;
    for (int i = Capacity < 3 ? 0 : Capacity - 3; i < Capacity; ++i) chars[i] = '.';
    return *this;
  }
};

/// std::cout << found.words. There is none where <ostream> is not included.
template <class Character, class Traits, int Capacity>
requires requires(std::basic_ostream<Character, Traits>& stream) { stream.width(); }
std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& stream, const Text<Capacity>& text) {
  return stream << text.view();
}

/// Words of a user as a sentence quotes them: a long name leaves room for the rest.
[[nodiscard]] constexpr Text<40> quoted(std::string_view words) { return Text<40>{words}; }

}  // namespace heddle::core_room
