// SPDX-License-Identifier: MIT
// Room: io. The IDX format of MNIST and its kin: a small header, then numbers, all big-endian.
// Sees: core, run/error, io/file, io/dataset.  Does not see: compression, policies, devices.
// In: bytes or a folder.  Out: IdxArray (a checked view), IdxDataset (images in [0, 1], labels), or one sentence.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "heddle/io/dataset.hpp"
#include "heddle/io/file.hpp"

namespace heddle::inline io_room {

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

/// Refuses what does not begin as an IDX file. Errors  D02 wrong first bytes, D04 shorter than its own header
inline void refuse_idx_header(std::span<const std::byte> bytes, const std::string& name) {
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  if (bytes.size() >= 2 && byte(0) == 0x1f && byte(1) == 0x8b)
    throw Error(Code{'D', 2}, "'" + name + "' is no IDX file but a gzip file (it starts with 1f 8b). Fix: run gunzip on it, or load it with " +
                                  "load_idx_dataset of heddle/io/gzip.hpp.");
  for (std::size_t i = 0; i < bytes.size() && i < 3; ++i) {
    const bool right = i < 2 ? byte(i) == 0 : bytes_of(static_cast<IdxType>(byte(2))) != 0;
    if (!right)
      throw Error(Code{'D', 2}, "'" + name + "' is no IDX file: byte " + std::to_string(i) + " is " + std::to_string(byte(i)) + ", expected " +
                                    (i < 2 ? "0" : "a type of 8, 9, 11, 12, 13 or 14") + ". Fix: give a file such as train-images-idx3-ubyte.");
  }
  const std::size_t header = bytes.size() < 4 ? 4 : 4 + 4 * static_cast<std::size_t>(byte(3));
  if (bytes.size() < header)
    throw Error(Code{'D', 4}, "'" + name + "' is cut off in its header: it needs " + grouped_digits(static_cast<std::int64_t>(header)) +
                                  " bytes for it and has " + grouped_digits(std::ssize(bytes)) + ". Fix: fetch the file again.");
}

/// The array in `bytes`; `name` is what the sentences call it.
///
/// Errors  D02 not IDX, D04 truncated, D05 over-long, D06 sizes whose product overflows
/// Source  sources.md#idx
/// Tested  io/idx_test
[[nodiscard]] inline IdxArray parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  refuse_idx_header(bytes, name);
  const auto dimensions = std::to_integer<std::size_t>(bytes[3]);
  const std::size_t header = 4 + 4 * dimensions;
  IdxArray array;
  array.type = static_cast<IdxType>(bytes[2]);
  std::string spelled;
  bool empty = false;
  for (std::size_t at = 4; at < header; at += 4) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | std::to_integer<std::int64_t>(bytes[at + i]);
    array.sizes.push_back(size);
    spelled += (spelled.empty() ? "" : " x ") + grouped_digits(size);
    empty = empty || size == 0;
  }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;  // room for the header in the sum below
  std::int64_t needed = empty ? 0 : bytes_of(array.type);
  for (const std::int64_t size : array.sizes) {
    if (!empty && needed > most / size)
      throw Error(Code{'D', 6}, "'" + name + "' claims sizes " + spelled +
                                    ", more bytes than a 64-bit number counts. Fix: fetch the file again, its header is damaged.");
    needed *= size;
  }
  const auto total = static_cast<std::int64_t>(header) + needed;
  const std::int64_t has = std::ssize(bytes);
  if (has < total)
    throw Error(Code{'D', 4}, "'" + name + "' is cut off: sizes " + spelled + " need " + grouped_digits(total) + " bytes and it has " +
                                  grouped_digits(has) + ". Fix: fetch the file again.");
  if (has > total)
    throw Error(Code{'D', 5}, "'" + name + "' is too long: sizes " + spelled + " need " + grouped_digits(total) + " bytes and " +
                                  grouped_digits(has - total) + " follow after them. Fix: fetch the file again.");
  array.data = bytes.subspan(header);
  return array;
}

/// Refuses an array that is not of unsigned bytes with this number of dimensions. Errors  D03
inline void refuse_other_use(const IdxArray& array, int dimensions, const std::string& use, const std::string& name) {
  if (array.type == IdxType::u8 && std::ssize(array.sizes) == dimensions) return;
  throw Error(Code{'D', 3}, "'" + name + "' cannot be " + use + ": it has type " + std::to_string(static_cast<int>(array.type)) + " and " +
                                std::to_string(array.sizes.size()) + " dimensions, expected type 8 (unsigned bytes) and " +
                                std::to_string(dimensions) + ". Fix: give the file of the " + use + ".");
}

/// Pixels and labels of two IDX files as one data set; a pixel p becomes p / 255.
/// Errors  D02 to D08, D10, D11 as parse_idx and Dataset; D03 other types or dimensions than (images, rows, columns) and (labels)
[[nodiscard]] inline LabelledRows labelled_rows(std::span<const std::byte> images, std::span<const std::byte> labels, int classes,
                                                const std::string& images_name, const std::string& labels_name) {
  const IdxArray pixels = parse_idx(images, images_name);
  refuse_other_use(pixels, 3, "images", images_name);
  const IdxArray numbers = parse_idx(labels, labels_name);
  refuse_other_use(numbers, 1, "labels", labels_name);
  if (pixels.elements() == 0)
    throw Error(Code{'D', 10}, "'" + images_name + "' holds " + grouped_digits(pixels.sizes[0]) + " images of " + grouped_digits(pixels.sizes[1]) +
                                   " x " + grouped_digits(pixels.sizes[2]) +
                                   " pixels: there is nothing to learn from. Fix: give a file with at least one pixel.");
  LabelledRows rows;
  rows.features = pixels.sizes[1] * pixels.sizes[2];
  rows.classes = classes;
  rows.images.reserve(pixels.data.size());
  for (const std::byte pixel : pixels.data) rows.images.push_back(static_cast<float>(std::to_integer<int>(pixel)) / 255.0F);
  rows.labels.reserve(numbers.data.size());
  for (const std::byte label : numbers.data) rows.labels.push_back(std::to_integer<std::int32_t>(label));
  return rows;
}

/// Where the two files of one half lie: in a folder under their usual names (train-images-idx3-ubyte, or with a dot before idx), or behind
/// a prefix of those names. Each may be there as .gz instead.
struct IdxPaths {
  std::filesystem::path images;
  std::filesystem::path labels;

  IdxPaths(const std::filesystem::path& folder_or_prefix, Split split)
      : images(find(folder_or_prefix, split, "images", "idx3-ubyte")), labels(find(folder_or_prefix, split, "labels", "idx1-ubyte")) {}

 private:
  static std::filesystem::path find(const std::filesystem::path& folder_or_prefix, Split split, const std::string& what, const std::string& ending) {
    std::error_code ignored;
    const std::string file = (split == Split::train ? "train-" : "t10k-") + what;
    const auto there = [](const std::filesystem::path& path) { return file_is_there(path) || file_is_there(path.string() + ".gz"); };
    if (!std::filesystem::is_directory(folder_or_prefix, ignored))
      if (std::filesystem::path prefixed = folder_or_prefix.string() + file + "-" + ending; there(prefixed)) return prefixed;
    const std::filesystem::path dotted = folder_or_prefix / (file + "." + ending);
    const std::filesystem::path usual = folder_or_prefix / (file + "-" + ending);
    return there(dotted) && !there(usual) ? dotted : usual;
  }
};

/// A data set from two IDX files: images scaled to [0, 1] once, labels checked; batches copy nothing.
///
/// Shape   images (size, rows x columns), labels (size)
/// Errors  D01 to D08, D10, D11, each one sentence that names the file
/// Tested  io/idx_test
class IdxDataset : public Dataset {
 public:
  explicit IdxDataset(const std::filesystem::path& folder_or_prefix, Split split = Split::train, int classes = 10)
      : IdxDataset(IdxPaths{folder_or_prefix, split}, classes) {}
  /// As argv gives it: a null pointer is refused with D01.
  explicit IdxDataset(const char* folder_or_prefix, Split split = Split::train, int classes = 10)
      : IdxDataset(std::filesystem::path{given(folder_or_prefix)}, split, classes) {}
  IdxDataset(const IdxPaths& paths, int classes)
      : IdxDataset{read(paths.images), read(paths.labels), classes, paths.images.string(), paths.labels.string()} {}  // braces: images first
  /// From files that are in memory already.
  IdxDataset(std::span<const std::byte> images, std::span<const std::byte> labels, int classes = 10, const std::string& images_name = "images",
             const std::string& labels_name = "labels")
      : Dataset(labelled_rows(images, labels, classes, images_name, labels_name), images_name, labels_name) {}

 private:
  static const char* given(const char* folder) {
    if (folder == nullptr) throw Error(Code{'D', 1}, "no folder of a data set was given. Fix: give the folder that holds train-images-idx3-ubyte.");
    return folder;
  }
  static std::vector<std::byte> read(const std::filesystem::path& path) {
    const std::string packed = path.string() + ".gz";
    if (!file_is_there(path) && file_is_there(packed))
      throw Error(Code{'D', 1}, quoted_path(path) + " is missing, only the gzip file '" + packed +
                                    "' is there. Fix: run gunzip on it, or load it with " + "load_idx_dataset of heddle/io/gzip.hpp.");
    return read_file(path);
  }
};

}  // namespace heddle::inline io_room
