// SPDX-License-Identifier: MIT
#include "heddle/io/idx_header.hpp"

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

namespace {

std::string refusal(const idx_bytes::Bytes& bytes) {
  return sentence([&] { static_cast<void>(parse_idx(bytes, "data")); });
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
