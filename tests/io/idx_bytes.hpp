// SPDX-License-Identifier: MIT
// Small IDX files in memory and on disk, and the sentence of the error that something throws.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/idx.hpp"
#include "says.hpp"

namespace idx_bytes {

using Bytes = std::vector<std::byte>;

/// What a file holds.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

inline Bytes header(int type, std::initializer_list<std::uint32_t> sizes) {
  Bytes bytes{std::byte{0}, std::byte{0}, static_cast<std::byte>(type), static_cast<std::byte>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(size >> shift));
  return bytes;
}

inline Bytes file(int type, std::initializer_list<std::uint32_t> sizes, std::initializer_list<int> data) {
  Bytes bytes = header(type, sizes);
  for (const int value : data) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Three images of 2 x 2 pixels and their labels.
inline Bytes three_images() { return file(8, {3, 2, 2}, {0, 51, 102, 255, 1, 2, 3, 4, 5, 6, 7, 8}); }
inline Bytes three_labels() { return file(8, {3}, {7, 0, 9}); }

inline void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream out{path, std::ios::binary};
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// A folder of its own, removed at the end of the test.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name) : path(std::filesystem::temp_directory_path() / ("heddle_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

using heddle::tests::sentence;

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace idx_bytes
