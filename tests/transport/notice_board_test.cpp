// SPDX-License-Identifier: MIT
#include "heddle/transport/notice_board.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;

namespace {

void put(const NoticeBoard& board, const std::string& words) {
  board.put("note", {std::as_bytes(std::span{words}.first(words.size() / 2)), std::as_bytes(std::span{words}.subspan(words.size() / 2))});
}
std::string get(const NoticeBoard& board, std::size_t first = 0) {
  std::array<char, 64> room{};
  const std::size_t bytes = board.get("note", std::as_writable_bytes(std::span{room}), first);
  return {room.data(), bytes};
}

}  // namespace

TEST_CASE("a notice has the parts that were written, is replaced as a whole, and nothing else is left in the folder") {
  const Folder folder{"notice_board"};
  const NoticeBoard board{folder.path / "made" / "here"};
  CHECK(get(board).empty());
  for (const char* const words : {"first words", "a longer notice than the first", "x"}) {
    put(board, words);
    CHECK(get(board) == words);
    CHECK(get(board, 1) == words + 1);
    CHECK(std::distance(fs::directory_iterator{board.folder()}, {}) == 1);
  }
  board.remove("note");
  CHECK(get(board).empty());
  board.take_down();
  CHECK_FALSE(fs::exists(board.folder()));
}

TEST_CASE("who reads while another writes sees a whole notice") {
  const Folder folder{"notice_board_two"};
  const NoticeBoard writer{folder.path}, reader{folder.path};
  const auto of = [](int n) { return std::string(40, static_cast<char>('a' + n % 26)); };
  put(writer, of(0));
  std::atomic<bool> ends = false;
  std::thread other{[&] {
    for (int n = 0; n < 500; ++n) put(writer, of(n));
    ends = true;
  }};
  int odd = 0;
  while (!ends) {
    const std::string seen = get(reader);
    odd += seen.size() == 40 && seen == std::string(40, seen[0]) ? 0 : 1;
  }
  other.join();
  CHECK(odd == 0);
}

TEST_CASE("R38: a folder that cannot be, or takes nothing, is one sentence") {
  const Folder folder{"notice_board_refused"};
  std::ofstream{folder.path / "file"} << "x";
  const std::vector<std::string> said = said_by(2, [&](int rank) {
    if (rank == 0) static_cast<void>(NoticeBoard{folder.path / "file"});
    if (rank == 0) return;
    const NoticeBoard gone{folder.path / "gone"};
    gone.take_down();
    put(gone, "words");
  });
  CHECK(begins(said[0], "[heddle.R38] the folder '" + (folder.path / "file").string() + "' in which processes meet cannot be made: "));
  CHECK(has(said[0], ". Fix: name one on a file system that all machines share and that this user may write to."));
  CHECK(begins(said[1], "[heddle.R38] the folder '" + (folder.path / "gone").string() +
                            "' in which processes meet takes no file of this process: No such file or directory. Fix: "));
}

TEST_CASE("a call that signals interrupt is made again, and another error is not") {
  int calls = 0;
  const auto fails = [&](int number, int times) {
    calls = 0;
    return uninterrupted([&calls, number, times] {
      errno = number;
      return ++calls <= times ? -1 : 7;
    });
  };
  CHECK(fails(EINTR, 3) == 7);
  CHECK(calls == 4);
  CHECK(fails(EACCES, 3) == -1);
  CHECK(calls == 1);
}

TEST_CASE("numbers of processes differ and are never 0") {
  const std::uint64_t a = number_of_its_own(), b = number_of_its_own();
  CHECK(a != b);
  CHECK((a != 0 && b != 0));
}

TEST_CASE("R38: a pipe, a device or a folder in the place of a notice holds nobody up, and is named") {
  const Folder folder{"notice_board_odd"};
  const NoticeBoard board{folder.path};
  const auto expected = [&] {
    return "[heddle.R38] '" + (folder.path / "note").string() +
           "' is no regular file, but processes that meet leave their notices there. Fix: remove it.";
  };
  REQUIRE(::mkfifo((folder.path / "note").c_str(), 0600) == 0);
  CHECK(said_by(1, [&](int) { static_cast<void>(get(board)); })[0] == expected());
  fs::remove(folder.path / "note");
  fs::create_symlink("/dev/zero", folder.path / "note");
  CHECK(said_by(1, [&](int) { static_cast<void>(get(board)); })[0] == expected());
  fs::remove(folder.path / "note");
  fs::create_directory(folder.path / "note");
  CHECK(said_by(1, [&](int) { static_cast<void>(get(board)); })[0] == expected());
}

TEST_CASE("R38: what the system says is in the sentence, with what to do about it, and no half file stays") {
  const Folder folder{"notice_board_full"};
  const NoticeBoard board{folder.path};
  rlimit before{}, little{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  little = before;
  little.rlim_cur = 16;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const std::string large = said_by(1, [&](int) { put(board, std::string(100, 'x')); })[0];
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(has(large, "takes no file of this process: File too large. Fix: "));
  CHECK(folder.files() == 0);
  fs::create_directory(folder.path / "note");
  CHECK(has(said_by(1, [&](int) { put(board, "words"); })[0], "takes no file of this process: Is a directory. Fix: "));
  CHECK(folder.files() == 1);

  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  little = before;
  little.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &little) == 0);
  const std::vector<std::string> none = said_by(2, [&](int rank) { rank == 0 ? put(board, "words") : static_cast<void>(get(board)); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  const std::string rest = ": Too many open files. Fix: let the process open fewer files, or raise the limit on them (ulimit -n).";
  CHECK(has(none[0], "takes no file of this process" + rest));
  CHECK(has(none[1], "has a file 'note' that cannot be read" + rest));
  CHECK(has(refused_folder(folder.path, "is full", ENOSPC).what(), "is full: No space left on device. Fix: free space there, or name a folder"));
}
