// SPDX-License-Identifier: MIT
#include "heddle/io/idx.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::file;
using idx_bytes::has;
using idx_bytes::header;
using idx_bytes::sentence;
using idx_bytes::three_images;
using idx_bytes::three_labels;

namespace {

std::string refusal(const idx_bytes::Bytes& bytes) {
  return sentence([&] { static_cast<void>(parse_idx(bytes, "data")); });
}
std::string refusal(const idx_bytes::Bytes& images, const idx_bytes::Bytes& labels, int classes = 10) {
  return sentence([&] { IdxDataset{images, labels, classes}; });
}

}  // namespace

TEST_CASE("images become floats in [0, 1], labels class numbers") {
  const IdxDataset data{three_images(), three_labels()};
  CHECK(data.size() == 3);
  CHECK(data.features() == 4);
  CHECK(data.classes() == 10);
  REQUIRE(data.images().size() == 12);
  CHECK(data.images()[0] == 0.0F);
  CHECK(data.images()[1] == 51.0F / 255.0F);
  CHECK(data.images()[3] == 1.0F);
  CHECK(data.labels()[0] == 7);
  CHECK(data.labels()[2] == 9);
}

TEST_CASE("images may stay bytes, with all that is said of the files") {
  const IdxByteDataset data{three_images(), three_labels()};
  CHECK(data.size() == 3);
  CHECK(data.features() == 4);
  CHECK(data.classes() == 10);
  REQUIRE(data.bytes().size() == 12);
  const IdxDataset floats{three_images(), three_labels()};
  for (std::size_t i = 0; i < 12; ++i) CHECK(static_cast<float>(data.bytes()[i]) / 255.0F == floats.images()[i]);
  CHECK(std::vector<std::int32_t>{data.labels().begin(), data.labels().end()} ==
        std::vector<std::int32_t>{floats.labels().begin(), floats.labels().end()});
  static_assert(std::is_same_v<decltype(data.all()), Examples<std::int32_t, std::uint8_t>>);
  CHECK(sentence([&] { IdxByteDataset{three_images(), file(8, {3}, {1, 10, 2})}; }) == refusal(three_images(), file(8, {3}, {1, 10, 2})));
  CHECK(sentence([&] { IdxByteDataset{three_images(), file(8, {2}, {1, 2})}; }) == refusal(three_images(), file(8, {2}, {1, 2})));
}

TEST_CASE("files of another type or number of dimensions are refused") {
  CHECK(refusal(three_labels(), three_labels()) ==
        "[heddle.D03] 'images' cannot be images: it has type 8 and 1 dimensions, expected type 8 (unsigned bytes) and 3. Fix: give the file of the "
        "images.");
  CHECK(has(refusal(three_images(), three_images()), "[heddle.D03] 'labels' cannot be labels: it has type 8 and 3 dimensions"));
  CHECK(has(refusal(file(9, {1, 1, 1}, {1}), file(8, {1}, {1})), "[heddle.D03] 'images' cannot be images: it has type 9 and 3 dimensions"));
}

TEST_CASE("images and labels that differ in number are refused with both numbers") {
  CHECK(refusal(three_images(), file(8, {2}, {1, 2})) ==
        "[heddle.D07] 'images' has 3 images but 'labels' has 2 labels. Fix: take both files from the same half of the same data set.");
}

TEST_CASE("a label out of range is refused with its row") {
  CHECK(refusal(three_images(), file(8, {3}, {1, 10, 2})) ==
        "[heddle.D08] label 10 of row 1 of 'labels' is not in 0 to 9. Fix: correct the label, or raise the number of classes.");
  CHECK(refusal(three_images(), file(8, {3}, {1, 10, 2}), 11) == "nothing was thrown");
  CHECK(has(refusal(three_images(), three_labels(), 0), "[heddle.D11]"));
}

TEST_CASE("an empty data set is refused") {
  CHECK(refusal(header(8, {0, 28, 28}), header(8, {0})) ==
        "[heddle.D10] 'images' holds 0 images of 28 x 28 pixels: there is nothing to learn from. Fix: give a file with at least one pixel.");
  CHECK(has(refusal(header(8, {3, 0, 28}), three_labels()), "[heddle.D10] 'images' holds 3 images of 0 x 28 pixels"));
}

TEST_CASE("a folder is read under the usual names, each half for itself") {
  const idx_bytes::Folder folder{"idx_test_folder"};
  idx_bytes::write(folder.path / "train-images-idx3-ubyte", three_images());
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", three_labels());
  idx_bytes::write(folder.path / "t10k-images-idx3-ubyte", file(8, {1, 2, 2}, {1, 2, 3, 4}));
  idx_bytes::write(folder.path / "t10k-labels-idx1-ubyte", file(8, {1}, {5}));
  CHECK(IdxDataset{folder.path}.size() == 3);
  CHECK(IdxDataset{folder.path.string()}.size() == 3);
  CHECK(IdxDataset{folder.path.c_str()}.size() == 3);
  const IdxDataset test{folder.path, DataSplit::test};
  CHECK(test.size() == 1);
  CHECK(test.labels()[0] == 5);
}

TEST_CASE("names with a dot before idx and names behind a prefix are found as well") {
  const idx_bytes::Folder folder{"idx_test_names"};
  idx_bytes::write(folder.path / "train-images.idx3-ubyte", three_images());
  idx_bytes::write(folder.path / "train-labels.idx1-ubyte", three_labels());
  idx_bytes::write(folder.path / "letters-train-images-idx3-ubyte", file(8, {1, 1, 1}, {255}));
  idx_bytes::write(folder.path / "letters-train-labels-idx1-ubyte", file(8, {1}, {1}));
  CHECK(IdxDataset{folder.path}.size() == 3);
  CHECK(IdxDataset{folder.path / "letters-"}.size() == 1);
}

TEST_CASE("a missing file is refused with the path that was looked for") {
  const idx_bytes::Folder folder{"idx_test_missing"};
  const auto load = [&] { return sentence([&] { IdxDataset{folder.path}; }); };
  CHECK(load() == "[heddle.D01] '" + (folder.path / "train-images-idx3-ubyte").string() +
                      "' cannot be read: No such file or directory. Fix: give the path of a file that is there and readable.");
  idx_bytes::write(folder.path / "train-images-idx3-ubyte", three_images());
  CHECK(has(load(), "[heddle.D01] '" + (folder.path / "train-labels-idx1-ubyte").string() + "' cannot be read"));
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte.gz", {});
  CHECK(has(load(), "is missing, only the gzip file '" + (folder.path / "train-labels-idx1-ubyte.gz").string() +
                        "' is there. Fix: run gunzip on it, or load it with datasets::load_idx of heddle/io/gzip.hpp, which needs zlib (-lz)."));
  const auto nowhere = folder.path / "nowhere";
  CHECK(has(sentence([&] { IdxDataset{nowhere}; }), "'" + (nowhere / "train-images-idx3-ubyte").string() + "' cannot be read: No such file"));
  const char* not_given = nullptr;
  CHECK(sentence([&] { IdxDataset{not_given}; }) ==
        "[heddle.D01] no folder of a data set was given. Fix: give the folder that holds train-images-idx3-ubyte.");
}

TEST_CASE("a file of a folder that is damaged is named with its path") {
  const idx_bytes::Folder folder{"idx_test_named"};
  idx_bytes::Bytes cut = three_images();
  cut.pop_back();
  idx_bytes::write(folder.path / "train-images-idx3-ubyte", cut);
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", three_labels());
  CHECK(has(sentence([&] { IdxDataset{folder.path}; }), "[heddle.D04] '" + (folder.path / "train-images-idx3-ubyte").string() + "' is cut off"));
}

TEST_CASE("every truncation of a file is refused") {
  for (const idx_bytes::Bytes& whole : {three_images(), three_labels(), file(14, {1}, {1, 2, 3, 4, 5, 6, 7, 8})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const idx_bytes::Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE(has(refusal(cut), "[heddle.D04]"));
    }
  }
}

TEST_CASE("the header of a large file is held against its size before a pixel is read") {
  const idx_bytes::Folder folder{"idx_test_sparse"};
  const std::filesystem::path images = folder.path / "train-images-idx3-ubyte";
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", three_labels());
  const auto with = [&](const idx_bytes::Bytes& first) {
    idx_bytes::write(images, first);
    std::filesystem::resize_file(images, std::uintmax_t{1} << 34);  // holes take no disk
    return sentence([&] { IdxDataset{folder.path}; });
  };
  CHECK(has(with(three_images()), "' is too long: sizes 3 x 2 x 2 need 28 bytes and 17,179,869,156 follow after them."));
  CHECK(has(with({std::byte{0}, std::byte{0}, std::byte{7}}), "[heddle.D02]"));
  CHECK(has(with(header(8, {0xFFFFFFFF, 4, 1})), "[heddle.D04]"));  // the pixels fit, their header does not
}

TEST_CASE("every change of one byte of a header gives consistent sizes or an error") {
  int parsed = 0;
  int refused = 0;
  for (const idx_bytes::Bytes& whole : {three_images(), three_labels(), file(14, {1}, {1, 2, 3, 4, 5, 6, 7, 8}), header(8, {0, 2})}) {
    for (std::size_t at = 0; at < 4 + 4 * std::to_integer<std::size_t>(whole[3]); ++at) {
      for (int value = 0; value < 256; ++value) {
        idx_bytes::Bytes changed = whole;
        changed[at] = static_cast<std::byte>(value);
        try {
          const IdxArray array = parse_idx(changed, "data");
          std::int64_t elements = 1;
          for (const std::int64_t size : array.sizes) elements *= size;
          REQUIRE(array.elements() == elements);
          REQUIRE(std::ssize(changed) == 4 + 4 * std::ssize(array.sizes) + elements * bytes_of(array.type));
          for (std::int64_t i = 0; i < elements; ++i) static_cast<void>(array.number(i));  // reads inside, for the sanitizer
          ++parsed;
        } catch (const Error& error) {
          REQUIRE(error.code().letter == 'D');
          ++refused;
        }
        static_cast<void>(refusal(changed, three_labels()));  // as images of a data set: throws an Error or nothing
      }
    }
  }
  CHECK(parsed > 0);
  CHECK(refused > 0);
}
