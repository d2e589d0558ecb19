// SPDX-License-Identifier: MIT
#include "heddle/transport/notice_board.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
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
  CHECK(begins(said[1], "[heddle.R38] the folder '" + (folder.path / "gone").string() + "' in which processes meet takes no file of this process."));
}

TEST_CASE("numbers of processes differ and are never 0") {
  const std::uint64_t a = number_of_its_own(), b = number_of_its_own();
  CHECK(a != b);
  CHECK((a != 0 && b != 0));
}
