// SPDX-License-Identifier: MIT
// Room: report. Objects of JSON as text: strings of any bytes escaped, numbers whole or as their digits are given.
// Sees: core.  Does not see: every other room.
// In: names, words, numbers.  Out: text that every reader of JSON takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/utf8.hpp"

namespace heddle::report_room {

/// json_string("a \"b\"") is "\"a \\\"b\\\"\"": quoted, control characters escaped, '?' for each byte that is not UTF-8.
///
/// Source  sources.md#json
/// Tested  report/json_test
[[nodiscard]] inline std::string json_string(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.bytes == 0)
      out += '?';
    else if (c.value == '"' || c.value == '\\')
      out += {'\\', static_cast<char>(c.value)};
    else if (c.value < 0x20 || c.value == 0x7F)
      out += {'\\', 'u', '0', '0', digits[c.value >> 4U], digits[c.value & 15U]};
    else
      out += text.substr(at, c.bytes);
    at += c.bytes == 0 ? 1 : c.bytes;
  }
  return out + '"';
}

/// An object, member by member: JsonObject{}.add("ph", "X").add("pid", 3).text() is {"ph":"X","pid":3}.
///
/// Tested  report/json_test
class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view words) { return member(name, json_string(words)); }
  JsonObject& add(std::string_view name, std::int64_t number) { return member(name, std::to_string(number)); }
  JsonObject& add(std::string_view name, int number) { return add(name, std::int64_t{number}); }
  JsonObject& add(std::string_view name, bool truth) { return member(name, truth ? "true" : "false"); }
  JsonObject& add(std::string_view name, const char* words) { return add(name, std::string_view{words}); }
  JsonObject& add(std::string_view name, const JsonObject& inner) { return member(name, inner.text()); }
  /// What is JSON already, as a number with digits behind its point.
  JsonObject& member(std::string_view name, std::string_view json) {
    members_ += (members_.empty() ? "" : ",") + json_string(name) + ':';
    members_ += json;
    return *this;
  }
  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] std::string text() const { return '{' + members_ + '}'; }

 private:
  std::string members_;
};

}  // namespace heddle::report_room
