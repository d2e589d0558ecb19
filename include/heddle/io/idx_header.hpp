// SPDX-License-Identifier: MIT
// Room: io. The IDX format of MNIST and its kin: a small header, then numbers, all big-endian.
// Sees: core, seams/error, io/file.  Does not see: data sets, compression, policies, devices.
// In: any source of bytes.  Out: IdxHeader, held against the bytes that follow; IdxArray, a checked view; or one sentence.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"

namespace heddle::io_room {

/// The third byte of the file.
enum class IdxType : std::uint8_t { u8 = 0x08, i8 = 0x09, i16 = 0x0B, i32 = 0x0C, f32 = 0x0D, f64 = 0x0E };

/// Bytes of one number; 0 for a byte that names no type.
[[nodiscard]] constexpr std::int64_t bytes_of(IdxType type) {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8: return 1;
    case IdxType::i16: return 2;
    case IdxType::i32:
    case IdxType::f32: return 4;
    case IdxType::f64: return 8;
  }
  return 0;
}

/// An IDX file in memory, checked: data.size() is elements() x bytes_of(type). The bytes must outlive it.
struct IdxArray {
  IdxType type = IdxType::u8;
  std::vector<std::int64_t> sizes;  // in C order, the last varies fastest
  std::span<const std::byte> data;  // big-endian

  [[nodiscard]] std::int64_t elements() const { return std::ssize(data) / bytes_of(type); }
  /// Element number `index`; every type of the format is exact in a double.
  [[nodiscard]] double number(std::int64_t index) const {
    const std::int64_t width = bytes_of(type);
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < width; ++i) bits = bits << 8 | std::to_integer<std::uint64_t>(data[static_cast<std::size_t>(index * width + i)]);
    switch (type) {
      case IdxType::u8: return static_cast<double>(bits);
      case IdxType::i8: return static_cast<std::int8_t>(bits);
      case IdxType::i16: return static_cast<std::int16_t>(bits);
      case IdxType::i32: return static_cast<std::int32_t>(bits);
      case IdxType::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      case IdxType::f64: return std::bit_cast<double>(bits);
    }
    return 0;
  }
};

/// What the first bytes of an IDX file say. 60,000 images of 28 x 28 bytes have header_bytes 16 and data_bytes 47,040,000.
struct IdxHeader {
  IdxType type = IdxType::u8;
  std::vector<std::int64_t> sizes;  // in C order, the last varies fastest
  std::int64_t header_bytes = 0;
  std::int64_t data_bytes = 0;

  [[nodiscard]] std::int64_t elements() const { return data_bytes / bytes_of(type); }
  /// Writes 60,000 x 28 x 28.
  [[nodiscard]] std::string words() const {
    std::string spelled;
    for (const std::int64_t size : sizes) spelled += (spelled.empty() ? "" : " x ") + grouped_digits(size);
    return spelled;
  }
  /// Refuses a file of `has` bytes in all if it is not what the header says. Errors  D04 shorter, D05 longer
  void refuse_other_length(std::int64_t has, const std::string& name) const {
    const std::int64_t total = header_bytes + data_bytes;
    const std::string need = "sizes " + words() + " need " + grouped_digits(total) + " bytes and ";
    if (has < total)
      throw Error(Code{'D', 4}, written({"'", name, "' is cut off: ", need, "it has ", grouped_digits(has), ". Fix: fetch the file again."}));
    if (has > total)
      throw Error(Code{'D', 5},
                  written({"'", name, "' is too long: ", need, grouped_digits(has - total), " follow after them. Fix: fetch the file again."}));
  }
};

/// Reads the header of an IDX file and holds it against the bytes that can follow, before any of them is read.
///
/// Errors  D02 wrong first bytes, D04 shorter than it says, D05 longer, D06 sizes whose product overflows, and those of the source
template <ByteSource S> [[nodiscard]] IdxHeader read_idx_header(S& source) {
  const std::string& name = source.name();
  std::array<std::byte, 4 + 4 * 255> bytes{};
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  std::size_t has = source.read(std::span{bytes}.first(4));
  if (has >= 2 && byte(0) == 0x1f && byte(1) == 0x8b)
    throw Error(Code{'D', 2}, written({"'", name, "' is no IDX file but a gzip file (it starts with 1f 8b). Fix: run gunzip on it, or load it with ",
                                       "datasets::load_idx of heddle/io/gzip.hpp, which needs zlib (-lz)."}));
  for (std::size_t i = 0; i < has && i < 3; ++i) {
    const bool right = i < 2 ? byte(i) == 0 : bytes_of(static_cast<IdxType>(byte(2))) != 0;
    if (!right)
      throw Error(Code{'D', 2}, written({"'", name, "' is no IDX file: byte ", i, " is ", byte(i), ", expected ",
                                         (i < 2 ? "0" : "a type of 8, 9, 11, 12, 13 or 14"), ". Fix: give a file such as train-images-idx3-ubyte."}));
  }
  const std::size_t header = has < 4 ? 4 : 4 + 4 * static_cast<std::size_t>(byte(3));
  if (has == 4) has += source.read(std::span{bytes}.subspan(4, header - 4));
  if (has < header)
    throw Error(Code{'D', 4}, written({"'", name, "' is cut off in its header: it needs ", grouped_digits(std::uint64_t{header}),
                                       " bytes for it and has ", grouped_digits(std::uint64_t{has}), ". Fix: fetch the file again."}));
  IdxHeader found{static_cast<IdxType>(bytes[2]), {}, static_cast<std::int64_t>(header), 0};
  for (std::size_t at = 4; at < header; at += 4) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | std::to_integer<std::int64_t>(bytes[at + i]);
    found.sizes.push_back(size);
  }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;  // room for the header in sums
  const bool empty = std::find(found.sizes.begin(), found.sizes.end(), 0) != found.sizes.end();
  found.data_bytes = empty ? 0 : bytes_of(found.type);
  for (const std::int64_t size : found.sizes) {
    if (!empty && found.data_bytes > most / size)
      throw Error(Code{'D', 6}, written({"'", name, "' claims sizes ", found.words(),
                                         ", more bytes than a 64-bit number counts. Fix: fetch the file again, its header is damaged."}));
    found.data_bytes *= size;
  }
  if (const std::optional<std::uint64_t> size = source.size()) found.refuse_other_length(static_cast<std::int64_t>(*size), name);
  if (source.most() < static_cast<std::uint64_t>(found.data_bytes))
    throw Error(Code{'D', 4},
                written({"'", name, "' is cut off: sizes ", found.words(), " need ", grouped_digits(found.header_bytes + found.data_bytes),
                         " bytes, more than can be packed in it. Fix: fetch the file again."}));
  return found;
}

/// Calls take(bytes) with pieces of the data behind the header, and verifies that they end where the header says. Errors  D04, D05
template <ByteSource S, class Take> void each_idx_piece(S& source, const IdxHeader& header, Take take) {
  std::vector<std::byte> piece(std::size_t{64} << 10);
  std::int64_t done = 0;
  while (done < header.data_bytes) {
    const auto wanted = std::min<std::size_t>(piece.size(), static_cast<std::size_t>(header.data_bytes - done));
    const std::size_t got = source.read(std::span{piece}.first(wanted));
    take(std::span<const std::byte>{piece}.first(got));
    done += static_cast<std::int64_t>(got);
    if (got < wanted) header.refuse_other_length(header.header_bytes + done, source.name());
  }
  if (source.read(std::span{piece}.first(1)) > 0)
    throw Error(Code{'D', 5},
                written({"'", source.name(), "' is too long: sizes ", header.words(), " need ",
                         grouped_digits(header.header_bytes + header.data_bytes), " bytes and more follow after them. Fix: fetch the file again."}));
}

/// The array in `bytes`; `name` is what the sentences call it.
///
/// Errors  D02 not IDX, D04 truncated, D05 over-long, D06 sizes whose product overflows
/// Source  sources.md#idx
/// Tested  io/idx_header_test
[[nodiscard]] inline IdxArray parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  BytesInMemory source{bytes, name};
  IdxHeader header = read_idx_header(source);
  return {header.type, std::move(header.sizes), bytes.subspan(static_cast<std::size_t>(header.header_bytes))};
}

}  // namespace heddle::io_room
