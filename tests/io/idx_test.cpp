// SPDX-License-Identifier: MIT
#include "heddle/io/idx.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
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
idx_bytes::Bytes big_endian(int type, std::uint64_t bits, int width) {
  idx_bytes::Bytes bytes = header(type, {1});
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(bits >> shift));
  return bytes;
}

}  // namespace

TEST_CASE("an IDX file gives its type, sizes and data") {
  const idx_bytes::Bytes bytes = three_images();
  CHECK(bytes[3] == std::byte{3});  // the first four bytes are 2051, MNIST's magic number of images
  const IdxArray array = parse_idx(bytes, "images");
  CHECK(array.type == IdxType::u8);
  CHECK(array.sizes == std::vector<std::int64_t>{3, 2, 2});
  CHECK(array.elements() == 12);
  CHECK(array.number(3) == 255);
  CHECK(array.number(11) == 8);
}

TEST_CASE("every type of the format is read, big-endian") {
  const auto number = [](const idx_bytes::Bytes& bytes) { return parse_idx(bytes, "data").number(0); };
  CHECK(number(big_endian(0x08, 0xFF, 1)) == 255);
  CHECK(number(big_endian(0x09, 0xFF, 1)) == -1);
  CHECK(number(big_endian(0x0B, 0x0102, 2)) == 258);
  CHECK(number(big_endian(0x0B, 0xFFFE, 2)) == -2);
  CHECK(number(big_endian(0x0C, 0x01020304, 4)) == 16909060);
  CHECK(number(big_endian(0x0C, 0x80000000, 4)) == std::numeric_limits<std::int32_t>::min());
  CHECK(number(big_endian(0x0D, std::bit_cast<std::uint32_t>(-1.5F), 4)) == -1.5);
  CHECK(number(big_endian(0x0E, std::bit_cast<std::uint64_t>(0.1), 8)) == 0.1);
}

TEST_CASE("any number of dimensions is read: none is one number, a size of zero is none") {
  CHECK(parse_idx(file(8, {}, {42}), "data").number(0) == 42);
  CHECK(parse_idx(file(8, {1, 2, 1, 2, 1}, {1, 2, 3, 4}), "data").elements() == 4);
  CHECK(parse_idx(header(8, {5, 0}), "data").elements() == 0);
  // The product of the other sizes does not fit, but there is nothing to count.
  CHECK(parse_idx(header(14, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0}), "data").elements() == 0);
}

TEST_CASE("what is no IDX file is refused with the byte that says so") {
  CHECK(refusal({std::byte{'h'}, std::byte{'e'}, std::byte{'l'}, std::byte{'l'}, std::byte{'o'}}) ==
        "[heddle.D02] 'data' is no IDX file: byte 0 is 104, expected 0. Fix: give a file such as train-images-idx3-ubyte.");
  CHECK(refusal(file(10, {1}, {1})) ==
        "[heddle.D02] 'data' is no IDX file: byte 2 is 10, expected a type of 8, 9, 11, 12, 13 or 14. Fix: give a file such as "
        "train-images-idx3-ubyte.");
  CHECK(refusal({std::byte{0x1f}, std::byte{0x8b}, std::byte{8}}) ==
        "[heddle.D02] 'data' is no IDX file but a gzip file (it starts with 1f 8b). Fix: run gunzip on it, or load it with datasets::load_idx of "
        "heddle/io/gzip.hpp, which needs zlib (-lz).");
}

TEST_CASE("a truncated file is refused with the bytes it needs and has") {
  CHECK(refusal({}) == "[heddle.D04] 'data' is cut off in its header: it needs 4 bytes for it and has 0. Fix: fetch the file again.");
  idx_bytes::Bytes bytes = three_images();
  bytes.resize(9);
  CHECK(refusal(bytes) == "[heddle.D04] 'data' is cut off in its header: it needs 16 bytes for it and has 9. Fix: fetch the file again.");
  bytes = three_images();
  bytes.pop_back();
  CHECK(refusal(bytes) == "[heddle.D04] 'data' is cut off: sizes 3 x 2 x 2 need 28 bytes and it has 27. Fix: fetch the file again.");
  // The size of MNIST's training images, of which nothing is there: refused without asking for that memory.
  CHECK(has(refusal(header(8, {60000, 28, 28})), "sizes 60,000 x 28 x 28 need 47,040,016 bytes and it has 16"));
}

TEST_CASE("an over-long file is refused with the number of bytes after the end") {
  idx_bytes::Bytes bytes = three_images();
  bytes.push_back(std::byte{0});
  bytes.push_back(std::byte{0});
  CHECK(refusal(bytes) == "[heddle.D05] 'data' is too long: sizes 3 x 2 x 2 need 28 bytes and 2 follow after them. Fix: fetch the file again.");
}

TEST_CASE("sizes whose product overflows are refused, not wrapped") {
  CHECK(refusal(header(8, {0xFFFFFFFF, 0xFFFFFFFF, 2})) ==
        "[heddle.D06] 'data' claims sizes 4,294,967,295 x 4,294,967,295 x 2, more bytes than a 64-bit number counts. Fix: fetch the file again, its "
        "header is damaged.");
  CHECK(has(refusal(header(14, {0x80000000, 0x80000000})), "[heddle.D06]"));     // 2^62 numbers of 8 bytes: 2^65
  CHECK(has(refusal(header(8, {0x80000000, 0x40000000})), "[heddle.D04]"));      // 2^61 bytes can be counted, they are only not there
  CHECK(has(refusal(header(8, {65536, 65536, 65536, 65536})), "[heddle.D06]"));  // 2^64 would wrap to 0
}

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
