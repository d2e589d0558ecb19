// SPDX-License-Identifier: MIT
// Room: io. A whole file as bytes, and the numbers and names of the sentences about files.
// Sees: core, run/error.  Does not see: formats, data sets, every other room.
// In: a path.  Out: bytes, or an Error that says why not.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "heddle/run/error.hpp"

namespace heddle::inline io_room {

/// Digits grouped as in every sentence: 47,040,016.
[[nodiscard]] inline std::string grouped_digits(std::int64_t number) {
  Text<32> text;
  text << number;
  return std::string{text.view()};
}

/// The name in quotes, as it stands in a sentence.
[[nodiscard]] inline std::string quoted_path(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

/// Whether a file that can be opened may be there; false as well where it cannot be seen.
[[nodiscard]] inline bool file_is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

/// All bytes of a file.
///
/// Errors  D01 if it is missing, a folder, or cannot be read
/// Tested  io/file_test
[[nodiscard]] inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) {
    return Error(Code{'D', 1}, quoted_path(path) + " cannot be read: " + why + ". Fix: give the path of a file that is there and readable.");
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw refuse("it is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.string().c_str(), "rb"), &std::fclose};
  if (!file) throw refuse(std::generic_category().message(errno));
  std::vector<std::byte> bytes;
  const auto expected = std::filesystem::file_size(path, ignored);  // of a pipe it is unknown: then pieces of 64 KiB
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::size_t filled = 0;
  if (!ignored) bytes.reserve(static_cast<std::size_t>(expected) + piece);
  for (;;) {
    bytes.resize(filled + piece);
    const std::size_t read = std::fread(bytes.data() + filled, 1, piece, file.get());
    filled += read;
    if (read < piece) break;
  }
  if (std::ferror(file.get()) != 0) throw refuse(std::generic_category().message(errno));
  bytes.resize(filled);
  return bytes;
}

}  // namespace heddle::inline io_room
