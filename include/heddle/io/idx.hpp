// SPDX-License-Identifier: MIT
// Room: io. Data sets from files in the IDX format of MNIST and its kin.
// Sees: core, seams/error, io/file, io/idx_header, io/dataset, io/byte_dataset.  Does not see: compression, policies, devices.
// In: any source of bytes, or a folder.  Out: IdxDataset (images in [0, 1], labels), IdxByteDataset (bytes), or one sentence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/io/byte_dataset.hpp"
#include "heddle/io/dataset.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/idx_header.hpp"

namespace heddle::io_room {

/// Refuses an array that is not of unsigned bytes with this number of dimensions. Errors  D03
inline void refuse_other_use(const IdxHeader& header, int dimensions, const std::string& use, const std::string& name) {
  if (header.type == IdxType::u8 && std::ssize(header.sizes) == dimensions) return;
  throw Error(Code{'D', 3}, written({"'", name, "' cannot be ", use, ": it has type ", static_cast<int>(header.type), " and ", header.sizes.size(),
                                     " dimensions, expected type 8 (unsigned bytes) and ", dimensions, ". Fix: give the file of the ", use, "."}));
}

/// p / 255 for each pixel p, divided by the compiler: -ffast-math would multiply by 1/255 instead, with other bits.
inline constexpr std::array<float, 256> shade_of = [] {
  std::array<float, 256> shades{};
  for (std::size_t p = 0; p < shades.size(); ++p) shades[p] = static_cast<float>(p) / 255.0F;
  return shades;
}();

/// Refuses images and labels that are not as many. Errors  D07
inline void refuse_unpaired_rows(std::int64_t images, std::int64_t labels, const std::string& images_name, const std::string& labels_name) {
  if (images != labels)
    throw Error(Code{'D', 7}, written({"'", images_name, "' has ", grouped_digits(images), " images but '", labels_name, "' has ",
                                       grouped_digits(labels), " labels. Fix: take both files from the same half of the same data set."}));
}

/// Pixels and labels of two IDX files as one data set; a pixel p becomes p / 255 where inputs are floats, and stays p where they are bytes. Both
/// headers are judged before any pixel is read.
/// Errors  D02 to D08, D10, D11 as the headers and Dataset; D03 other types or dimensions than (images, rows, columns) and (labels); D14
template <class Rows = LabelledRows, ByteSource Images, ByteSource Labels>
[[nodiscard]] Rows labelled_rows(Images& images, Labels& labels, int classes) {
  using Input = typename Rows::Input;
  const IdxHeader pixels = read_idx_header(images);
  refuse_other_use(pixels, 3, "images", images.name());
  const IdxHeader numbers = read_idx_header(labels);
  refuse_other_use(numbers, 1, "labels", labels.name());
  if (pixels.elements() == 0)
    throw Error(Code{'D', 10},
                written({"'", images.name(), "' holds ", grouped_digits(pixels.sizes[0]), " images of ", grouped_digits(pixels.sizes[1]), " x ",
                         grouped_digits(pixels.sizes[2]), " pixels: there is nothing to learn from. Fix: give a file with at least one pixel."}));
  refuse_unpaired_rows(pixels.sizes[0], numbers.sizes[0], images.name(), labels.name());
  refuse_beyond_memory(sizeof(Input) * static_cast<std::uint64_t>(pixels.data_bytes), images.name());
  std::vector<Input> inputs;
  inputs.reserve(static_cast<std::size_t>(pixels.data_bytes));
  each_idx_piece(images, pixels, [&](std::span<const std::byte> piece) {
    for (const std::byte pixel : piece)
      if constexpr (std::is_same_v<Input, float>)
        inputs.push_back(shade_of[std::to_integer<std::size_t>(pixel)]);
      else
        inputs.push_back(std::to_integer<Input>(pixel));
  });
  std::vector<std::int32_t> of_rows;
  of_rows.reserve(static_cast<std::size_t>(numbers.data_bytes));
  each_idx_piece(labels, numbers, [&](std::span<const std::byte> piece) {
    for (const std::byte label : piece) of_rows.push_back(std::to_integer<std::int32_t>(label));
  });
  return Rows{std::move(inputs), std::move(of_rows), pixels.sizes[1] * pixels.sizes[2], classes};
}

/// The folder that argv gives. Errors  D01 of a null pointer
[[nodiscard]] inline std::filesystem::path given_folder(const char* folder) {
  if (folder == nullptr) throw Error(Code{'D', 1}, "no folder of a data set was given. Fix: give the folder that holds train-images-idx3-ubyte.");
  return folder;
}

/// Where the two files of one half lie: in a folder under their usual names (train-images-idx3-ubyte, or with a dot before idx), or behind
/// a prefix of those names. Each may be there as .gz instead.
struct IdxPaths {
  std::filesystem::path images;
  std::filesystem::path labels;

  IdxPaths(const std::filesystem::path& folder_or_prefix, DataSplit split)
      : images(find(folder_or_prefix, split, "images", "idx3-ubyte")), labels(find(folder_or_prefix, split, "labels", "idx1-ubyte")) {}

 private:
  static std::filesystem::path find(const std::filesystem::path& folder_or_prefix, DataSplit split, const std::string& what,
                                    const std::string& ending) {
    std::error_code ignored;
    const std::string file = (split == DataSplit::train ? "train-" : "t10k-") + what;
    const auto there = [](const std::filesystem::path& path) { return file_is_there(path) || file_is_there(path.string() + ".gz"); };
    if (!std::filesystem::is_directory(folder_or_prefix, ignored))
      if (std::filesystem::path prefixed = folder_or_prefix.string() + file + "-" + ending; there(prefixed)) return prefixed;
    const std::filesystem::path dotted = folder_or_prefix / (file + "." + ending);
    const std::filesystem::path usual = folder_or_prefix / (file + "-" + ending);
    return there(dotted) && !there(usual) ? dotted : usual;
  }
};

/// What data sets from two IDX files have in common, whatever they make of a pixel: 60,000 images of 28 x 28 have features() 784.
template <class Data, class OfRows> class IdxImages : public Data {
 public:
  using Rows = OfRows;
  explicit IdxImages(const std::filesystem::path& folder_or_prefix, DataSplit split = DataSplit::train, int classes = 10)
      : IdxImages(within_memory(folder_or_prefix, [&] {
          return read(IdxPaths{folder_or_prefix, split}, classes);
        })) {}
  /// As argv gives it: a null pointer is refused with D01.
  explicit IdxImages(const char* folder_or_prefix, DataSplit split = DataSplit::train, int classes = 10)
      : IdxImages(given_folder(folder_or_prefix), split, classes) {}
  /// From files that are in memory already.
  IdxImages(std::span<const std::byte> images, std::span<const std::byte> labels, int classes = 10, const std::string& images_name = "images",
            const std::string& labels_name = "labels")
      : IdxImages(within_memory(images_name, [&] {
          return read(BytesInMemory{images, images_name}, BytesInMemory{labels, labels_name}, classes);
        })) {}
  /// From rows that labelled_rows has read.
  IdxImages(Rows given, const std::string& images_name, const std::string& labels_name) : Data(std::move(given), images_name, labels_name) {}

 private:
  template <ByteSource Source> static IdxImages read(Source images, Source labels, int classes) {
    return {labelled_rows<Rows>(images, labels, classes), images.name(), labels.name()};
  }
  static IdxImages read(const IdxPaths& paths, int classes) {
    InputFile images = opened(paths.images);  // images first
    return read(std::move(images), opened(paths.labels), classes);
  }
  static InputFile opened(const std::filesystem::path& path) {
    const std::string packed = path.string() + ".gz";
    if (!file_is_there(path) && file_is_there(packed))
      throw Error(Code{'D', 1},
                  written({quoted_path(path), " is missing, only the gzip file '", packed, "' is there. Fix: run gunzip on it, or load it with ",
                           "datasets::load_idx of heddle/io/gzip.hpp, which needs zlib (-lz)."}));
    return InputFile{path};
  }
};

/// A data set from two IDX files: images scaled to [0, 1] once, labels checked; batches copy nothing.
///
/// Shape   images (size, rows x columns), labels (size)
/// Errors  D01 to D08, D10, D11, each one sentence that names the file
/// Tested  io/idx_test
class IdxDataset : public IdxImages<Dataset, LabelledRows> {  // Fix: write datasets::IdxDataset (clang shows this line)
 public:
  using IdxImages::IdxImages;
};

/// The same files for a model that begins with Rescaling or another layer that takes bytes: pixels stay as they are, in a quarter of the memory.
///
/// Shape   bytes (size, rows x columns), labels (size)
/// Errors  D01 to D08, D10, D11, each one sentence that names the file
/// Tested  io/idx_test
class IdxByteDataset : public IdxImages<ByteDataset, ByteRows> {
 public:
  using IdxImages::IdxImages;
};

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::IdxByteDataset, io_room::IdxDataset;
}  // namespace heddle::datasets
