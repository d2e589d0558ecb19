// SPDX-License-Identifier: MIT
// Room: io. What the header of a safetensors file says: how it is written as the reference writes it, and whether the tensors fit their bytes.
// Sees: core/utf8, seams/error.  Does not see: plans, backends, files.
// In: HeaderEntry per tensor, the strings of __metadata__.  Out: JSON, or one sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::io_room {

// Every trainer can save and load, so every program that trains sees these headers. What is a template here costs only those that do.

/// One tensor as the header states it; whether the numbers make sense is for the reader of the data to judge.
/// An "F32" of shape {10, 50} that comes first has begin 0 and end 2,000.
struct HeaderEntry {
  std::string name;
  std::string dtype;                 ///< "F32"
  std::vector<std::uint64_t> shape;  ///< empty for a single number
  std::uint64_t begin = 0;           ///< first byte, counted from the end of the header
  std::uint64_t end = 0;             ///< one past the last byte
};

/// All that a header holds; entries in the order of the text.
struct JsonHeader {
  std::deque<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// What a header may hold, read or written: with it the memory for a header stays below 64 MiB, whatever stands in the file.
inline constexpr std::size_t most_header_bytes = std::size_t{8} << 20;  // some 80,000 tensors
inline constexpr std::size_t most_dimensions = 32;
inline constexpr std::size_t most_metadata = 65'536;

/// Text as it may stand in a sentence: in quotes, cut at about 60 bytes, what commands a terminal as '?'.
[[nodiscard]] inline std::string cited(std::string_view text) {
  std::size_t kept = std::min<std::size_t>(text.size(), 60);
  while (kept < text.size() && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) ++kept;  // the rest of a character
  kept = std::min<std::size_t>(kept, 63);
  return "'" + printable(text.substr(0, kept)) + (kept < text.size() ? "...'" : "'");
}

[[noreturn]] inline void refuse_tensors(Code code, const std::string& what, const std::string& fix) {
  throw Error{code, what + ". Fix: " + fix + "."};
}

/// D15: a name that cannot be stored.
inline void refuse_name(std::string_view name) {
  if (name.empty() || name == "__metadata__" || !is_utf8(name))
    refuse_tensors(Code{'D', 15},
                   "the tensor to store cannot have the name " + cited(name) + ": " +
                       (name.empty()    ? "it is empty"
                        : is_utf8(name) ? "the format reserves it"
                                        : "it is not UTF-8"),
                   "choose another name");
}

/// Writes [50, 784].
[[nodiscard]] inline std::string shape_words(const std::vector<std::uint64_t>& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(static_cast<std::int64_t>(sizes[i]));
  return text + "]";
}

[[nodiscard]] inline std::uint64_t bytes_of_shape(const std::vector<std::uint64_t>& sizes, std::uint64_t element_bytes, const std::string& name,
                                                  std::string_view origin) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;  // sizes are std::int64_t from here on
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t size : sizes) {
    if (size > most || (size != 0 && bytes > most / size))
      refuse_tensors(Code{'D', 26},
                     std::string{origin} + ": " + cited(name) + " has " + std::to_string(sizes.size()) + " sizes whose product is above 2^62 bytes",
                     "save the file again");
    bytes *= size;
  }
  return bytes;
}

/// What a reader leaves out of a file.
using LeavesOut = bool (*)(std::string_view name);

/// In the order of their offsets, tensors must follow each other without overlap or hole, up to the last byte. Those that a reader leaves out may
/// have elements of any type.
template <class Entries> void check_layout(Entries& entries, std::uint64_t data_bytes, std::string_view origin, LeavesOut leaves_out = nullptr) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;  // an empty tensor before the one that starts at the same byte
  });
  const std::string file{origin};
  std::uint64_t reached = 0;
  for (const HeaderEntry& entry : entries) {
    const std::string which = file + ": tensor " + cited(entry.name);
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
    const bool is_read = leaves_out == nullptr || !leaves_out(entry.name);
    if (is_read && entry.dtype != "F32" && entry.dtype != "I32" && entry.dtype != "I64")
      refuse_tensors(Code{'D', 25}, which + " has elements of type " + cited(entry.dtype) + "; F32, I32 and I64 are read",
                     "convert it before saving");
    if (entry.begin > entry.end)
      refuse_tensors(Code{'D', 27}, which + " has the bytes " + range + ", which end before they begin", "save the file again");
    const std::uint64_t stated = bytes_of_shape(entry.shape, entry.dtype == "I64" ? 8 : 4, entry.name, origin);
    if (is_read && stated != entry.end - entry.begin)
      refuse_tensors(Code{'D', 26},
                     which + " of " + entry.dtype + " " + shape_words(entry.shape) + " takes " + std::to_string(stated) + " bytes but has " + range,
                     "save the file again");
    if (entry.begin != reached)
      refuse_tensors(Code{'D', 27}, which + " has the bytes " + range + " but the tensors before it end at byte " + std::to_string(reached),
                     "save the file again");
    reached = entry.end;
  }
  if (reached != data_bytes)
    refuse_tensors(Code{'D', 28},
                   file + ": the tensors take " + std::to_string(reached) + " bytes but " + std::to_string(data_bytes) + " follow the header",
                   "save or download the file again");
}

/// A JSON string: quotes, backslashes and control characters escaped.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      json += '\\', json += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      json += "\\u00", json += digits[static_cast<std::size_t>(c >> 4)], json += digits[c & 15];
    else
      json += c;
  }
  return json + '"';
}

/// Writes __metadata__ (if any), then the entries in the order given, without spaces.
template <class Header = JsonHeader> [[nodiscard]] std::string write_json_header(const Header& header) {
  std::string json = "{";
  const auto comma = [&] {
    if (json.back() != '{') json += ',';
  };
  if (!header.metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) comma(), json += json_string(key) + ':' + json_string(value);
    json += '}';
  }
  for (const HeaderEntry& entry : header.entries) {
    comma();
    json += json_string(entry.name) + ":{\"dtype\":" + json_string(entry.dtype) + ",\"shape\":[";
    for (std::size_t i = 0; i < entry.shape.size(); ++i) json += (i > 0 ? "," : "") + std::to_string(entry.shape[i]);
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + ',' + std::to_string(entry.end) + "]}";
  }
  return json + '}';
}

/// All bytes of a file before its data: the length of the header, the header, spaces up to a multiple of 8. Errors  D21 a header that is too long
template <class Header> [[nodiscard]] std::string bytes_before_data(const Header& header) {
  std::string json = write_json_header(header);
  json.append((8 - json.size() % 8) % 8, ' ');
  std::uint64_t length = json.size();
  if (length > most_header_bytes)
    refuse_tensors(Code{'D', 21},
                   "the header would have " + grouped_digits(length) + " bytes, above the limit of " + grouped_digits(most_header_bytes),
                   "store fewer tensors in a file");
  std::string bytes;
  for (std::size_t i = 0; i < sizeof length; ++i, length >>= 8) bytes += static_cast<char>(length & 0xFF);
  return bytes + json;
}

}  // namespace heddle::io_room
