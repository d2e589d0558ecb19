// SPDX-License-Identifier: MIT
// Room: core. How a broken rule becomes one sentence: a Diagnosis is a value, fire<> turns it into the one error.
// Sees: core/text.  Does not see: every other room.
// In: a Diagnosis found by a constexpr check.  Out: one compile error (fire) or one run-time sentence (text).
#pragma once

#include <cstdint>
#include <iosfwd>

#include "heddle/core/text.hpp"

namespace heddle::core_room {

/// Permanent code of a rule: the letter is the room, docs/errors.md has cause, example and remedy of each. Code{'B', 1} == "B01".
/// The letter of "B01" is 'B', the number 1.
struct Code {
  char letter = '-';
  int number = 0;
  friend constexpr bool operator==(const Code&, const Code&) = default;
  /// found.code == "B01"
  friend constexpr bool operator==(const Code& code, const char (&spelled)[4]) {
    return code == Code{spelled[0], 10 * (spelled[1] - '0') + spelled[2] - '0'};
  }
};

/// How each sentence begins: label(Code{'B', 1}) is "[heddle.B01] ", 13 characters.
using Label = Text<13>;
[[nodiscard]] constexpr Label label(Code code) {
  return Label{"[heddle."} << code.letter << static_cast<char>('0' + code.number / 10) << static_cast<char>('0' + code.number % 10) << "] ";
}

/// "B01": std::cout << found.code. There is none where <ostream> is not included.
template <class Character, class Traits>
requires requires(std::basic_ostream<Character, Traits>& stream) { stream.width(); }
std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& stream, const Code& code) {
  return stream << label(code).view().substr(8, 3);
}

/// What compilers, exceptions and reports write: "[heddle.B01] Batch<63> does not divide by 4 ranks. ... Fix: ...".
using Sentence = Text<480>;

/// What a check found: nothing (ok), or the code of the broken rule, the words that say how it is broken, and their numbers.
///
/// Diagnosis{Code{'B', 1}, "a batch of "} << 63: its code is B01, its words are "a batch of 63", its one number is 63.
struct Diagnosis {
  Code code;
  Text<480 - 13> words;  ///< the sentence without its label
  std::int64_t numbers[4]{};
  int number_count = 0;

  constexpr Diagnosis() = default;
  constexpr Diagnosis(Code broken, std::string_view begun) : code(broken), words(begun) {}
  [[nodiscard]] constexpr bool ok() const { return code.letter == '-'; }
  /// The code and the words; empty if nothing is broken.
  [[nodiscard]] constexpr Sentence sentence() const { return ok() ? Sentence{} : Sentence{label(code)} << words.view(); }

  /// Words and numbers in the order of the sentence; numbers are kept as facts as well.
  template <class Part> constexpr Diagnosis& operator<<(const Part& part) {
    words << part;
    return *this;
  }
  constexpr Diagnosis& operator<<(std::int64_t number) {
    words << number;
    if (number_count < 4) numbers[number_count++] = number;
    return *this;
  }
  constexpr Diagnosis& operator<<(int number) { return *this << static_cast<std::int64_t>(number); }
  friend constexpr bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

/// The sentence: std::cout << check<MyPlan>(). There is none where <ostream> is not included.
template <class Character, class Traits>
requires requires(std::basic_ostream<Character, Traits>& stream) { stream.width(); }
std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& stream, const Diagnosis& found) {
  return stream << found.sentence();
}

}  // namespace heddle::core_room

namespace heddle::extending {
using core_room::Code, core_room::Diagnosis;
}  // namespace heddle::extending
