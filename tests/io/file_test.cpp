// SPDX-License-Identifier: MIT
#include "heddle/io/file.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::sentence;

TEST_CASE("a file is read whole, whatever its size against the size of a piece") {
  const idx_bytes::Folder folder{"file_test_sizes"};
  for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 65537UL, 200000UL}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 >> 3);
    idx_bytes::write(folder.path / "data", bytes);
    CHECK(read_file(folder.path / "data") == bytes);
  }
}

TEST_CASE("a missing file and a folder are refused with their path") {
  const idx_bytes::Folder folder{"file_test_missing"};
  const std::string missing = (folder.path / "none").string();
  CHECK(sentence([&] { static_cast<void>(read_file(missing)); }) ==
        "[heddle.D01] '" + missing + "' cannot be read: No such file or directory. Fix: give the path of a file that is there and readable.");
  CHECK(sentence([&] { static_cast<void>(read_file(folder.path)); }) ==
        "[heddle.D01] '" + folder.path.string() + "' cannot be read: it is a folder. Fix: give the path of a file that is there and readable.");
}

TEST_CASE("a file is there if it can be opened as one") {
  const idx_bytes::Folder folder{"file_test_there"};
  idx_bytes::write(folder.path / "data", {});
  CHECK(file_is_there(folder.path / "data"));
  CHECK_FALSE(file_is_there(folder.path));
  CHECK_FALSE(file_is_there(folder.path / "none"));
}

TEST_CASE("numbers and paths are spelled as in every sentence") {
  CHECK(grouped_digits(47'040'016) == "47,040,016");
  CHECK(grouped_digits(-1) == "-1");
  CHECK(quoted_path("a/b") == "'a/b'");
}
