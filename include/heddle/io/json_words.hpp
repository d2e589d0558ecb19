// SPDX-License-Identifier: MIT
// Room: io. The words, numbers and brackets of a small JSON file, one after another, and the one sentence where another one belongs.
// Sees: core, seams/error, io/file.  Does not see: plans, machines, processes.
// In: text that anyone may have damaged.  Out: JsonWords, text_of_file.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::io_room {

/// What a reader of such files says of one that is none: {M18, "'a.json' is no Machine", "give a file that write_machine() has written"}.
struct JsonRefusal {
  Code code;
  std::string what;
  std::string_view fix;
};

/// The whole text of a file that has at most so many bytes. A Machine has at most 65,536: of one that is longer nothing is read.
///
/// Errors  D01 if the file cannot be read, that of the refusal if it is longer
/// Tested  io/machine_file_test, io/profile_file_test
[[nodiscard]] inline std::string text_of_file(const std::string& path, std::uint64_t most, const JsonRefusal& refusal) {
  InputFile file{path};
  if (file.most() > most)
    throw Error(refusal.code, written({refusal.what, ": it has ", grouped_digits(file.most()), " bytes, more than ", grouped_digits(most),
                                       ". Fix: ", refusal.fix, "."}));
  std::string text(static_cast<std::size_t>(file.most()), '\0');
  text.resize(file.read(std::as_writable_bytes(std::span{text})));
  return text;
}

/// Walks through a text. Of {"rows": 8} it is asked for '{', a word, ':', a number and '}'.
///
/// Tested  io/json_words_test
class JsonWords {
 public:
  JsonWords(std::string text, JsonRefusal refusal) : text_(std::move(text)), refusal_(std::move(refusal)) {}

  template <class Number> void value(Number& number) requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) {
    space();
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (problem != std::errc{}) refuse("has no number where one belongs");
    at_ = static_cast<std::size_t>(end - text_.data());
  }
  void value(bool& fact) {
    space();
    fact = text_.compare(at_, 4, "true") == 0;
    if (!fact && text_.compare(at_, 5, "false") != 0) refuse("has neither true nor false where one belongs");
    at_ += fact ? 4 : 5;
  }
  [[nodiscard]] bool next(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void take(char c) {
    if (!next(c)) refuse(std::string{"has no '"} + c + "' where one belongs");
  }
  /// Words have no escapes but those of a quote and of a backslash.
  [[nodiscard]] std::string word() {
    take('"');
    std::string found;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] != '"' && text_[at_] != '\\') refuse("has an escape that is not read");
      }
      found += text_[at_++];
    }
    if (at_ >= text_.size()) refuse("has a name without an end");
    ++at_;
    return found;
  }
  void end() {
    space();
    if (at_ != text_.size()) refuse("goes on behind its end");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(refusal_.code, written({refusal_.what, ": it ", what, ", at byte ", at_, ". Fix: ", refusal_.fix, "."}));
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  std::string text_;
  JsonRefusal refusal_;
  std::size_t at_ = 0;
};

/// A word as JsonWords reads it back: layer "a" is "layer \"a\"".
[[nodiscard]] inline std::string json_word(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}
/// A number with as few digits as have the same bits.
[[nodiscard]] inline std::string json_number(double number) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

}  // namespace heddle::io_room
