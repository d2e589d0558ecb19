// SPDX-License-Identifier: MIT
// Room: io. The JSON header of a safetensors file: exactly that grammar, read strictly.
// Sees: core/utf8, io/tensor_header, seams/error.  Does not see: plans, backends, files.
// In: text that anyone may have damaged.  Out: HeaderEntry per tensor, the strings of __metadata__, or one sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/utf8.hpp"
#include "heddle/io/tensor_header.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::io_room {

/// Reads a header. There is no nesting beyond the three levels of the grammar, hence no recursion to exhaust.
/// {"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}} becomes one entry, whose bytes are 0 to 24.
///
/// Errors  D15 a tensor without a name; D17 more dimensions or metadata than are read; D22 not JSON of this grammar; D23 a name or key that occurs
///         twice; D24 an entry that lacks a key or has another one
/// Source  sources.md#safetensors
/// Tested  io/json_header_test
template <class = void> class JsonHeaderReader {  // a template, so that who reads no header compiles none
 public:
  JsonHeaderReader(std::string_view json, std::string_view origin) : json_(json), origin_(origin) {}

  [[nodiscard]] JsonHeader read() {
    if (json_.empty() || json_.front() != '{') refuse("does not start with '{'");
    JsonHeader header;
    bool metadata = false;
    each_member([&](const std::string& name) {
      if (name.empty()) fault(Code{'D', 15}, "a tensor has no name", "give each tensor a name and save the file again");
      if (name != "__metadata__") return header.entries.push_back(read_entry(name));
      if (metadata) refuse_twice(name);
      metadata = true;
      header.metadata = read_metadata();
    });
    skip_spaces();
    if (at_ != json_.size()) refuse("has text after its last '}'");
    std::vector<std::string_view> names;
    names.reserve(header.entries.size());
    for (const HeaderEntry& entry : header.entries) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) refuse_twice(*twice);
    return header;
  }

 private:
  [[noreturn]] void fault(Code code, const std::string& what, const std::string& fix) const {
    throw Error{code, std::string{origin_} + ": " + what + ". Fix: " + fix + "."};
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fault(Code{'D', 22},
          "header is not that of a safetensors file. It " + what + " at byte " + std::to_string(at_) + " of its " + std::to_string(json_.size()),
          "save or download the file again");
  }

  [[noreturn]] void refuse_twice(std::string_view name) const {
    fault(Code{'D', 23}, "tensor " + cited(name) + " occurs twice in the header", "save the file again");
  }

  [[nodiscard]] char peek() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  void skip_spaces() {
    while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\t' || json_[at_] == '\n' || json_[at_] == '\r')) ++at_;
  }
  void expect(char c) {
    skip_spaces();
    if (at_ == json_.size()) refuse(std::string{"ends where '"} + c + "' is due");
    if (json_[at_] != c) refuse(std::string{"lacks '"} + c + "'");
    ++at_;
  }
  [[nodiscard]] bool accept(char c) {
    skip_spaces();
    if (peek() != c || at_ == json_.size()) return false;
    ++at_;
    return true;
  }

  /// Calls take(key) with the position at each value of an object.
  template <class Take> void each_member(Take take) {
    expect('{');
    if (accept('}')) return;
    do {
      skip_spaces();
      const std::string key = read_string();
      expect(':');
      skip_spaces();
      take(key);
    } while (accept(','));
    expect('}');
  }

  HeaderEntry read_entry(const std::string& name) {
    HeaderEntry entry;
    entry.name = name;
    bool dtype = false;
    bool shape = false;
    bool offsets = false;
    const auto once = [&](bool& done, const std::string& key) {
      if (done) fault(Code{'D', 23}, "key " + cited(key) + " of tensor " + cited(name) + " occurs twice", "save the file again");
      done = true;
    };
    each_member([&](const std::string& key) {
      if (key == "dtype")
        once(dtype, key), entry.dtype = read_string();
      else if (key == "shape")
        once(shape, key), entry.shape = read_numbers(name);
      else if (key == "data_offsets")
        once(offsets, key), read_offsets(entry);
      else
        fault(Code{'D', 24}, "tensor " + cited(name) + " has a key " + cited(key) + " which the format does not know", "save the file again");
    });
    const char* missing = !dtype ? "dtype" : !shape ? "shape" : !offsets ? "data_offsets" : nullptr;
    if (missing != nullptr) fault(Code{'D', 24}, "tensor " + cited(name) + " lacks its key '" + missing + "'", "save the file again");
    return entry;
  }

  void read_offsets(HeaderEntry& entry) {
    const std::vector<std::uint64_t> offsets = read_numbers(entry.name);
    if (offsets.size() != 2)
      fault(Code{'D', 24}, "tensor " + cited(entry.name) + " has " + std::to_string(offsets.size()) + " data_offsets, not 2", "save the file again");
    entry.begin = offsets[0];
    entry.end = offsets[1];
  }

  std::map<std::string, std::string> read_metadata() {
    std::map<std::string, std::string> metadata;
    each_member([&](const std::string& key) {
      if (peek() != '"') fault(Code{'D', 24}, "__metadata__ " + cited(key) + " is not a string", "store metadata as strings");
      if (metadata.size() == most_metadata)
        fault(Code{'D', 17}, "__metadata__ has more than " + std::to_string(most_metadata) + " strings", "save the file with fewer");
      if (!metadata.emplace(key, read_string()).second)
        fault(Code{'D', 23}, "__metadata__ key " + cited(key) + " occurs twice", "save the file again");
    });
    return metadata;
  }

  std::vector<std::uint64_t> read_numbers(const std::string& name) {
    std::vector<std::uint64_t> numbers;
    expect('[');
    if (accept(']')) return numbers;
    do {
      if (numbers.size() == most_dimensions)
        fault(Code{'D', 17}, "tensor " + cited(name) + " has more than " + std::to_string(most_dimensions) + " dimensions", "store it with fewer");
      numbers.push_back(read_number());
    } while (accept(','));
    expect(']');
    return numbers;
  }

  std::uint64_t read_number() {
    skip_spaces();
    const std::size_t start = at_;
    std::uint64_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(peek() - '0');
      if (number > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) refuse("has a number above 2^64 - 1");
      number = 10 * number + digit;
    }
    if (at_ == start) refuse("lacks a whole number");
    if (json_[start] == '0' && at_ > start + 1) refuse("has a number with a leading zero");
    return number;
  }

  std::string read_string() {
    if (peek() != '"') refuse("lacks a string");
    ++at_;
    std::string text;
    for (;;) {
      if (at_ == json_.size()) refuse("ends inside a string");
      const auto c = static_cast<unsigned char>(json_[at_]);
      if (c == '"') break;
      if (c < 0x20) refuse("has a control character in a string");
      if (c == '\\')
        read_escape(text);
      else if (c < 0x80)
        text += json_[at_++];
      else
        read_multibyte(text);
    }
    ++at_;
    return text;
  }

  void read_escape(std::string& text) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (peek() == 'u') return append_utf8(text, read_code_point());
    const std::size_t which = at_ == json_.size() ? std::string_view::npos : letters.find(peek());
    if (which == std::string_view::npos) refuse("has an unknown escape in a string");
    text += meanings[which];
    ++at_;
  }

  std::uint32_t read_code_point() {
    const std::uint32_t first = read_four_hex();
    if (first >= 0xDC00 && first < 0xE000) refuse("has half a surrogate pair");
    if (first < 0xD800 || first >= 0xE000) return first;
    if (json_.substr(at_, 2) != "\\u") refuse("has half a surrogate pair");
    ++at_;
    const std::uint32_t second = read_four_hex();
    if (second < 0xDC00 || second >= 0xE000) refuse("has half a surrogate pair");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  std::uint32_t read_four_hex() {
    std::uint32_t value = 0;
    ++at_;  // the 'u'
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) refuse("has an escape \\u without four hexadecimal digits");
      value = 16 * value + static_cast<std::uint32_t>(digit);
    }
    return value;
  }

  static void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    const auto tail = [&](int shift) { put(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) return put(0xC0 | (code >> 6)), tail(0);
    if (code < 0x10000) return put(0xE0 | (code >> 12)), tail(6), tail(0);
    put(0xF0 | (code >> 18)), tail(12), tail(6), tail(0);
  }

  void read_multibyte(std::string& text) {
    const std::size_t bytes = code_point_at(json_, at_).bytes;
    if (bytes == 0) refuse("is not UTF-8");
    text += json_.substr(at_, bytes);
    at_ += bytes;
  }

  std::string_view json_;
  std::string_view origin_;
  std::size_t at_ = 0;
};

}  // namespace heddle::io_room
