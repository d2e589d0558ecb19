// SPDX-License-Identifier: MIT
// Room: io. Data files as packages ship them: gzip, by zlib. The only header of Heddle that needs zlib (component gzip).
// Sees: core, run/error, io/file, io/idx, zlib.  Does not see: policies, devices.
// In: a path or bytes.  Out: the bytes inside, every checksum verified, or one sentence.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "heddle/io/file.hpp"
#include "heddle/io/idx.hpp"

namespace heddle::inline io_room {

/// A zlib stream that is closed on every way out.
class Inflation {
 public:
  Inflation() {
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc{};  // of fixed arguments only memory can be missing
  }
  ~Inflation() { inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  [[nodiscard]] z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

/// The first two bytes of every member of a gzip file.
[[nodiscard]] inline bool starts_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

/// What a gzip file in memory holds; several members one after the other are joined, as gzip does.
///
/// Errors  D09 if it is no gzip file, is damaged, cut off, or followed by anything else
/// Tested  io/gzip_test
[[nodiscard]] inline std::vector<std::byte> gunzip(std::span<const std::byte> packed, const std::string& name) {
  const auto refuse = [&](const std::string& what) { return Error(Code{'D', 9}, "'" + name + "' is " + what + ". Fix: fetch the file again."); };
  if (!starts_gzip(packed)) throw refuse("no gzip file: it does not start with 1f 8b");
  Inflation inflation;
  z_stream& stream = inflation.stream();
  std::vector<std::byte> bytes;
  std::size_t taken = 0;
  std::size_t filled = 0;
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (;;) {
    if (bytes.size() - filled < piece) bytes.resize(std::max(2 * bytes.size(), 4 * piece));
    const std::size_t offered = std::min(packed.size() - taken, piece);
    // zlib's interface has no const; it only reads next_in.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + filled);
    stream.avail_out = static_cast<uInt>(piece);
    const int state = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    filled += piece - stream.avail_out;
    if (state == Z_MEM_ERROR) throw std::bad_alloc{};
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      throw refuse("damaged near byte " + grouped_digits(static_cast<std::int64_t>(taken)) + ": " +
                   (stream.msg != nullptr ? stream.msg : "not readable"));
    if (state == Z_STREAM_END) {
      if (taken == packed.size()) break;
      if (!starts_gzip(packed.subspan(taken)))
        throw refuse("followed by " + grouped_digits(static_cast<std::int64_t>(packed.size() - taken)) + " bytes that are not gzip");
      inflateReset(&stream);
    } else if (taken == packed.size() && stream.avail_out > 0) {
      throw refuse("cut off: its data end in the middle after " + grouped_digits(static_cast<std::int64_t>(packed.size())) + " bytes");
    }
  }
  bytes.resize(filled);
  return bytes;
}

/// What a gzip file holds. Errors  D01 if it cannot be read, D09 as gunzip
[[nodiscard]] inline std::vector<std::byte> read_gzip(const std::filesystem::path& path) { return gunzip(read_file(path), path.string()); }

/// The same data set as IdxDataset{folder, split}, from plain files or, where only that is there, from .gz files.
///
/// Errors  D01 to D11, each one sentence that names the file
/// Tested  io/gzip_test
[[nodiscard]] inline IdxDataset load_idx_dataset(const std::filesystem::path& folder_or_prefix, Split split = Split::train, int classes = 10) {
  const auto load = [](const std::filesystem::path& path) {
    const std::filesystem::path packed = path.string() + ".gz";
    return !file_is_there(path) && file_is_there(packed) ? read_gzip(packed) : read_file(path);
  };
  const IdxPaths paths{folder_or_prefix, split};
  return IdxDataset{load(paths.images), load(paths.labels), classes, paths.images.string(), paths.labels.string()};
}

}  // namespace heddle::inline io_room
