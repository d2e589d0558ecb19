// SPDX-License-Identifier: MIT
#include "heddle/io/gzip.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "io/gzip_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::packed;
using idx_bytes::sentence;

namespace {

idx_bytes::Bytes pattern(std::size_t size, std::size_t period) {
  idx_bytes::Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * i) >> 7 ^ i % period);
  return bytes;
}

/// What the packed bytes hold, read in pieces of this size.
idx_bytes::Bytes unpacked(const idx_bytes::Bytes& bytes, std::size_t piece = 100'000) {
  Unpacked<BytesInMemory> source{BytesInMemory{bytes, "data.gz"}};
  idx_bytes::Bytes all;
  idx_bytes::Bytes part(piece);
  for (;;) {
    const std::size_t got = source.read(part);
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < piece) return all;
  }
}

std::string refusal(const idx_bytes::Bytes& bytes) {
  return sentence([&] { static_cast<void>(unpacked(bytes)); });
}

/// Zeros behind these bytes, packed: a megabyte of zeros becomes a thousand bytes.
idx_bytes::Bytes bomb(idx_bytes::Bytes bytes, std::size_t zeros) {
  bytes.resize(bytes.size() + zeros);
  return packed(bytes);
}

}  // namespace

TEST_CASE("a gzip file gives back what was packed, from nothing to several pieces of the buffer") {
  for (const std::size_t size : {0UL, 1UL, 1000UL, (1UL << 20) - 1, 1UL << 20, (1UL << 22) + 1, 9'000'000UL})
    CHECK(unpacked(packed(pattern(size, 251))) == pattern(size, 251));
  for (const std::size_t piece : {1UL, 2UL, 999UL, 1000UL, 1001UL, 5'000'000UL})
    CHECK(unpacked(packed(pattern(1000, 251)), piece) == pattern(1000, 251));
  const idx_bytes::Bytes zeros(5'000'000);  // a thousand times smaller when packed
  CHECK(unpacked(packed(zeros)) == zeros);
}

TEST_CASE("several members in one file are joined") {
  idx_bytes::Bytes both = packed(pattern(1000, 7));
  const idx_bytes::Bytes second = packed(pattern(50, 3));
  both.insert(both.end(), second.begin(), second.end());
  idx_bytes::Bytes expected = pattern(1000, 7);
  const idx_bytes::Bytes tail = pattern(50, 3);
  expected.insert(expected.end(), tail.begin(), tail.end());
  CHECK(unpacked(both) == expected);
}

TEST_CASE("what is no gzip file is refused") {
  CHECK(refusal({}) == "[heddle.D09] 'data.gz' is no gzip file: it does not start with 1f 8b. Fix: fetch the file again.");
  CHECK(has(refusal(idx_bytes::three_images()), "[heddle.D09] 'data.gz' is no gzip file"));
}

TEST_CASE("every truncation of a gzip file is refused") {
  const idx_bytes::Bytes whole = packed(pattern(300, 11));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const idx_bytes::Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    REQUIRE(refusal(cut) ==
            "[heddle.D09] 'data.gz' is cut off: its data end in the middle after " + std::to_string(size) + " bytes. Fix: fetch the file again.");
  }
}

TEST_CASE("bytes after the end are refused with their number") {
  idx_bytes::Bytes longer = packed(pattern(300, 11));
  for (int i = 0; i < 3; ++i) longer.push_back(std::byte{0});
  CHECK(refusal(longer) == "[heddle.D09] 'data.gz' is followed by 3 bytes that are not gzip. Fix: fetch the file again.");
}

TEST_CASE("no flipped bit gives other contents: it is refused, or it lies where the format keeps nothing") {
  const idx_bytes::Bytes contents = pattern(300, 11);
  const idx_bytes::Bytes whole = packed(contents);
  std::size_t refused = 0;
  // The ten bytes of the header hold a time and a system, which may be anything; up to seven bits pad the last block to a byte.
  for (std::size_t at = 10; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      idx_bytes::Bytes damaged = whole;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      try {
        const bool same = unpacked(damaged) == contents;
        REQUIRE(same);
      } catch (const Error& error) {
        REQUIRE(error.code() == Code{'D', 9});
        ++refused;
      }
    }
  }
  CHECK(refused >= 8 * (whole.size() - 10) - 7);
  idx_bytes::Bytes checksum = whole;
  checksum[checksum.size() - 8] ^= std::byte{1};
  CHECK(has(refusal(checksum), "incorrect data check"));
}

TEST_CASE("no more is unpacked than the header of the data says: a file that swells is refused at the first byte beyond") {
  const idx_bytes::Folder folder{"gzip_test_bomb"};
  const idx_bytes::Bytes swelling = bomb(idx_bytes::three_images(), std::size_t{64} << 20);
  CHECK(swelling.size() < 100'000);
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", swelling);
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", idx_bytes::three_labels());
  CHECK(sentence([&] { static_cast<void>(load_idx(folder.path)); }) ==
        "[heddle.D05] '" + (folder.path / "train-images-idx3-ubyte.gz").string() +
            "' is too long: sizes 3 x 2 x 2 need 28 bytes and more follow after them. Fix: fetch the file again.");
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", bomb({}, std::size_t{64} << 20));  // zeros have no type
  CHECK(has(sentence([&] { static_cast<void>(load_idx(folder.path)); }), "[heddle.D02]"));
}

TEST_CASE("a header that claims more than the packed bytes can hold is refused before memory is asked for") {
  const idx_bytes::Folder folder{"gzip_test_claim"};
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(idx_bytes::header(8, {4'000'000'000, 1000, 1000})));
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", idx_bytes::three_labels());
  CHECK(has(sentence([&] { static_cast<void>(load_idx(folder.path)); }), "' is cut off: sizes 4,000,000,000 x 1000 x 1000 need "));
  idx_bytes::Bytes cut = idx_bytes::three_images();
  cut.pop_back();
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(cut));
  CHECK(has(sentence([&] { static_cast<void>(load_idx(folder.path)); }), "' is cut off: sizes 3 x 2 x 2 need 28 bytes and it has 27. Fix: "));
}

TEST_CASE("a data set is taken from plain and packed files alike, and a missing one is refused") {
  const idx_bytes::Folder folder{"gzip_test_folder"};
  CHECK(has(sentence([&] { static_cast<void>(load_idx(folder.path)); }),
            "[heddle.D01] '" + (folder.path / "train-images-idx3-ubyte").string() + "' cannot be read"));
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(idx_bytes::three_images()));
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", idx_bytes::three_labels());
  const IdxDataset data = load_idx(folder.path);
  CHECK(data.size() == 3);
  CHECK(data.images()[3] == 1.0F);
  const auto bytes = load_idx<IdxByteDataset>(folder.path);
  CHECK(bytes.size() == 3);
  CHECK(bytes.bytes()[3] == 255);
  CHECK(has(sentence([&] { IdxDataset{folder.path}; }), "[heddle.D01]"));  // without zlib only plain files are read
}

TEST_CASE("a folder that argv does not have is refused") {
  const char* not_given = nullptr;
  CHECK(sentence([&] { static_cast<void>(load_idx(not_given)); }) ==
        "[heddle.D01] no folder of a data set was given. Fix: give the folder that holds train-images-idx3-ubyte.");
}

TEST_CASE("a packed file that is damaged is named with its path") {
  const idx_bytes::Folder folder{"gzip_test_damaged"};
  idx_bytes::Bytes cut = packed(idx_bytes::three_images());
  cut.pop_back();
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", cut);
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte.gz", packed(idx_bytes::three_labels()));
  CHECK(has(sentence([&] { static_cast<void>(load_idx(folder.path)); }),
            "[heddle.D09] '" + (folder.path / "train-images-idx3-ubyte.gz").string() + "' is cut off"));
}
