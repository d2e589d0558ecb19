// SPDX-License-Identifier: MIT
#include "heddle/io/file.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <new>
#include <string>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::sentence;

namespace {

std::vector<std::byte> all_of(const std::filesystem::path& path, std::size_t piece) {
  InputFile file{path};
  std::vector<std::byte> all;
  std::vector<std::byte> part(piece);
  for (;;) {
    const std::size_t got = file.read(part);
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < piece) return all;
  }
}

std::string why_not(const std::filesystem::path& path) {
  return sentence([&] { InputFile{path}; });
}

}  // namespace

TEST_CASE("a file is read whole, whatever its size against the size of a piece, from the disk as from memory") {
  const idx_bytes::Folder folder{"file_test_sizes"};
  for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 65537UL, 200000UL}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 >> 3);
    idx_bytes::write(folder.path / "data", bytes);
    for (const std::size_t piece : {7UL, 65536UL, 300000UL}) CHECK(all_of(folder.path / "data", piece) == bytes);
    CHECK(InputFile{folder.path / "data"}.size() == size);
    BytesInMemory memory{bytes, "memory"};
    std::vector<std::byte> again(size + 3);
    CHECK(memory.read(again) == size);
    again.resize(size);
    CHECK(again == bytes);
    CHECK(memory.read(again) == 0);
  }
}

TEST_CASE("a missing file and a folder are refused with their path") {
  const idx_bytes::Folder folder{"file_test_missing"};
  const std::string missing = (folder.path / "none").string();
  CHECK(why_not(missing) ==
        "[heddle.D01] '" + missing + "' cannot be read: No such file or directory. Fix: give the path of a file that is there and readable.");
  CHECK(why_not(folder.path) ==
        "[heddle.D01] '" + folder.path.string() + "' cannot be read: it is a folder. Fix: give the path of a file that is there and readable.");
}

TEST_CASE("a path that argv does not have is refused") {
  const char* not_given = nullptr;
  CHECK(sentence([&] { InputFile{not_given}; }) == "[heddle.D01] no path was given, but a null pointer. Fix: give the path of a file.");
}

TEST_CASE("what has no end that is known beforehand is refused and not waited for: pipes, devices, sockets") {
  const idx_bytes::Folder folder{"file_test_kinds"};
  const std::filesystem::path pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(has(why_not(pipe), "[heddle.D01] '" + pipe.string() + "' cannot be read: it is a pipe. Fix: "));
  CHECK(has(why_not("/dev/zero"), "it is a device"));
  std::filesystem::create_symlink("/dev/zero", folder.path / "zeros");
  CHECK(has(why_not(folder.path / "zeros"), "it is a device"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder.path / "socket").c_str(), sizeof address.sun_path - 1);
  const Descriptor socket{::socket(AF_UNIX, SOCK_STREAM, 0)};
  REQUIRE(bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(has(why_not(folder.path / "socket"), "it is a socket"));
}

TEST_CASE("a name that the system would cut at its zero byte is refused, and one that commands a terminal is shown without the command") {
  CHECK(has(why_not(std::string("/etc/passwd\0.idx", 16)), "its name has a byte of zero"));
  CHECK(has(why_not("no such \x1b[2J file\xc2\x9b"
                    "2J"),
            "[heddle.D01] 'no such ?[2J file?2J' cannot be read"));
}

TEST_CASE("contents beyond the memory are refused before it is asked for, and a refusal by the system names the file") {
  CHECK_NOTHROW(refuse_beyond_memory(std::uint64_t{64} << 20, "small"));
  CHECK(has(sentence([] { refuse_beyond_memory(std::uint64_t{1} << 60, "a sparse file"); }),
            "[heddle.D14] 'a sparse file' takes 1,152,921,504,606,846,976 bytes of memory, but "));
  for (const int bit : {63, 64}) {  // numbers that a signed one does not hold
    const std::uint64_t bytes = product_or_most(std::uint64_t{1} << 60, std::uint64_t{1} << (bit - 60));
    CHECK(has(sentence([&] { refuse_beyond_memory(bytes, "much"); }),
              "[heddle.D14] 'much' takes more than 9,223,372,036,854,775,807 bytes of memory, but "));
  }
  const std::string none =
      "[heddle.D14] 'file' takes more memory than the system gives. Fix: give a smaller file, free memory, or raise the limit on it.";
  CHECK(sentence([] { within_memory("file", [] { throw std::bad_alloc{}; }); }) == none);
  CHECK(sentence([] { within_memory("file", [] { throw std::length_error{"vector"}; }); }) == none);
  CHECK(within_memory("file", [] { return 3; }) == 3);
}

TEST_CASE("a file is there if it can be opened as one") {
  const idx_bytes::Folder folder{"file_test_there"};
  idx_bytes::write(folder.path / "data", {});
  CHECK(file_is_there(folder.path / "data"));
  CHECK_FALSE(file_is_there(folder.path));
  CHECK_FALSE(file_is_there(folder.path / "none"));
}

TEST_CASE("numbers and paths are spelled as in every sentence") {
  static_assert(product_or_most(3, 5) == 15 && product_or_most(0, 5) == 0 && product_or_most(5, 0) == 0);
  static_assert(product_or_most(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1) == ~std::uint64_t{0} - 0xFFFFFFFF);
  static_assert(product_or_most(std::uint64_t{1} << 32, std::uint64_t{1} << 32) == ~std::uint64_t{0});
  CHECK(quoted_path("a/b") == "'a/b'");
}
