// SPDX-License-Identifier: MIT
// Room: io. Data files as packages ship them: gzip, by zlib. The only header of Heddle that needs zlib (component gzip).
// Sees: core, seams/error, io/file, io/idx, zlib.  Does not see: policies, devices.
// In: a path or bytes.  Out: the bytes inside piece by piece, every checksum verified, or one sentence.
#pragma once

#if !__has_include(<zlib.h>)
#include "[heddle.L14] zlib.h is not found. Fix: apt install zlib1g-dev, and link with -lz; heddle/io/idx.hpp reads unpacked files without it."
#endif
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "heddle/core/not_included.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/idx.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<GzipHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::io_room {

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

/// What a gzip file holds, in pieces: nothing is unpacked that nobody asks for. Several members one after the other are joined, as gzip does.
/// Checksums are verified when the end is reached: a read of less than was asked for is a promise that all bytes were right.
/// 100 packed bytes hold at most 103,200.
///
/// Errors  D01 as the source; D09 if it is no gzip file, is damaged, cut off, or followed by anything else
/// Tested  io/gzip_test
template <ByteSource Packed> class Unpacked {
 public:
  explicit Unpacked(Packed packed) : packed_(std::move(packed)) {}
  [[nodiscard]] const std::string& name() const { return packed_.name(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// Deflate codes at most 258 bytes in two bits.
  [[nodiscard]] std::uint64_t most() const {
    constexpr std::uint64_t ratio = 1032;
    return packed_.most() > std::numeric_limits<std::uint64_t>::max() / ratio ? std::numeric_limits<std::uint64_t>::max() : packed_.most() * ratio;
  }

  std::size_t read(std::span<std::byte> into) {
    if (!begun_) begin();
    z_stream& stream = inflation_->stream();
    std::size_t filled = 0;
    while (filled < into.size() && !ended_) {
      if (stream.avail_in == 0) refill();
      const std::size_t offered = std::min(into.size() - filled, piece);
      stream.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
      stream.avail_out = static_cast<uInt>(offered);
      const int state = inflate(&stream, Z_NO_FLUSH);
      filled += offered - stream.avail_out;
      judge(state);
    }
    return filled;
  }

 private:
  static constexpr std::size_t piece = std::size_t{64} << 10;

  [[nodiscard]] Error refusal(const std::string& what) const {
    return Error(Code{'D', 9}, written({"'", name(), "' is ", what, ". Fix: fetch the file again."}));
  }
  /// The next packed bytes behind those that are left; false at their end.
  bool refill() {
    z_stream& stream = inflation_->stream();
    const std::size_t left = stream.avail_in;
    if (left > 0) std::copy_n(reinterpret_cast<std::byte*>(stream.next_in), left, buffer_->data());
    const std::size_t more = packed_.read(std::span{*buffer_}.subspan(left));
    taken_ += more;
    stream.next_in = reinterpret_cast<Bytef*>(buffer_->data());
    stream.avail_in = static_cast<uInt>(left + more);
    return more > 0;
  }
  [[nodiscard]] bool starts_member() {
    z_stream& stream = inflation_->stream();
    if (stream.avail_in < 2) refill();
    return stream.avail_in >= 2 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
  }
  void begin() {
    if (!starts_member()) throw refusal("no gzip file: it does not start with 1f 8b");
    begun_ = true;
  }
  void judge(int state) {
    z_stream& stream = inflation_->stream();
    if (state == Z_MEM_ERROR) throw std::bad_alloc{};
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      throw refusal("damaged near byte " + grouped_digits(taken_ - stream.avail_in) + ": " + (stream.msg != nullptr ? stream.msg : "not readable"));
    if (state == Z_STREAM_END) {
      const bool another = starts_member();
      ended_ = stream.avail_in == 0;
      if (another) {
        inflateReset(&stream);
      } else if (!ended_) {
        throw refusal("followed by " + grouped_digits(packed_.most() - taken_ + stream.avail_in) + " bytes that are not gzip");
      }
    } else if (stream.avail_in == 0 && stream.avail_out > 0 && !refill()) {
      throw refusal("cut off: its data end in the middle after " + grouped_digits(taken_) + " bytes");
    }
  }

  Packed packed_;
  std::unique_ptr<Inflation> inflation_ = std::make_unique<Inflation>();  // zlib keeps its address
  std::unique_ptr<std::array<std::byte, piece>> buffer_ = std::make_unique<std::array<std::byte, piece>>();
  std::uint64_t taken_ = 0;  // packed bytes that the buffer has seen
  bool begun_ = false;
  bool ended_ = false;
};

/// The same data set as IdxDataset{folder, split}, from plain files or, where only that is there, from .gz files. load_idx<IdxByteDataset>(folder)
/// keeps the bytes.
///
/// Errors  D01 to D11 and D14, each one sentence that names the file
/// Tested  io/gzip_test
template <class Data = IdxDataset>
[[nodiscard]] Data load_idx(const std::filesystem::path& folder_or_prefix, DataSplit split = DataSplit::train, int classes = 10) {
  const auto with = [](const std::filesystem::path& path, auto use) {
    const std::filesystem::path packed = path.string() + ".gz";
    if (file_is_there(path) || !file_is_there(packed)) {
      InputFile file{path};
      return use(file);
    }
    Unpacked<InputFile> file{InputFile{packed}};
    return use(file);
  };
  return within_memory(folder_or_prefix, [&] {
    const IdxPaths paths{folder_or_prefix, split};
    return with(paths.images, [&](auto& images) {
      return with(paths.labels, [&](auto& labels) {
        return Data{labelled_rows<typename Data::Rows>(images, labels, classes), images.name(), labels.name()};
      });
    });
  });
}

/// The same of a folder as argv gives it. Errors  D01 also of a null pointer
template <class Data = IdxDataset> [[nodiscard]] Data load_idx(const char* folder_or_prefix, DataSplit split = DataSplit::train, int classes = 10) {
  return load_idx<Data>(given_folder(folder_or_prefix), split, classes);
}

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::load_idx;
}  // namespace heddle::datasets
