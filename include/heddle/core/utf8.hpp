// SPDX-License-Identifier: MIT
// Room: core. Text from outside: whether it is UTF-8, and the same text without what would command a terminal.
// Sees: the standard library.  Does not see: every other room.
// In: any bytes.  Out: code points; text that may be printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// A character of UTF-8 text, and how many bytes it takes: 0 where the bytes are not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

/// The character that begins at byte `at`. Overlong forms, halves of surrogate pairs and values above U+10FFFF are not UTF-8.
///
/// Tested  core/utf8_test
[[nodiscard]] constexpr CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t place) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[place])); };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t tails = lead >= 0xF0 && lead < 0xF8 ? 3 : lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xC0 && lead < 0xE0 ? 1 : 0;
  if (tails == 0 || text.size() - at <= tails) return {};
  std::uint32_t value = lead & (0x3FU >> tails);
  for (std::size_t i = 1; i <= tails; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    value = (value << 6) | (byte(at + i) & 0x3FU);
  }
  const std::uint32_t smallest = tails == 1 ? 0x80 : tails == 2 ? 0x800 : 0x10000;
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {value, tails + 1};
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = code_point_at(text, at).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

/// The first `most` characters of a text, whole ones; a byte that is not UTF-8 counts as one.
///
/// Tested  core/utf8_test
[[nodiscard]] constexpr std::string_view first_characters(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t c = 0; c < most && at < text.size(); ++c) at += code_point_at(text, at).bytes == 0 ? 1 : code_point_at(text, at).bytes;
  return text.substr(0, at);
}

/// How many characters a text has: the columns that it takes in a terminal, if none of its characters is a wide one.
[[nodiscard]] constexpr std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_characters(text, 1).size());
  return count;
}

/// Whether a character commands a terminal, breaks a line or turns the direction of writing around instead of being shown.
[[nodiscard]] constexpr bool is_control(std::uint32_t c) {
  const bool commands = c < 0x20 || (c >= 0x7F && c < 0xA0);  // U+009B alone opens a command, as ESC [ does
  const bool breaks = c == 0x2028 || c == 0x2029;
  const bool turns = c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return commands || breaks || turns;
}

/// The text with '?' for each control character and each byte that is not UTF-8: one line, which a terminal shows and does not obey.
[[nodiscard]] HEDDLE_COLD inline std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.bytes == 0 || is_control(c.value))
      shown += '?';
    else
      shown += text.substr(at, c.bytes);
    at += c.bytes == 0 ? 1 : c.bytes;
  }
  return shown;
}

}  // namespace heddle::core_room
