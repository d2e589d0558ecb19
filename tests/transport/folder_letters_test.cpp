// SPDX-License-Identifier: MIT
#include "heddle/transport/folder_letters.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <numeric>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;

namespace {

std::span<const std::byte> bytes_of(const std::string& words) { return std::as_bytes(std::span{words}); }
std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

TEST_CASE("every rank has what all have said, exchange by exchange, in two files a rank") {
  const Folder folder{"letters"};
  const std::vector<std::string> said = said_by(3, [&](int rank) {
    FolderLetters letters{folder.path, rank, 3};
    for (int k = 0; k < 20; ++k) {
      CHECK(letters.next() == k);
      const std::string mine = "rank " + std::to_string(rank) + " at " + std::to_string(k) + std::string(static_cast<std::size_t>(k % 3), '!');
      letters.post("a call", bytes_of(mine));
      CHECK_FALSE(letters.missing(rank));
      while (!letters.all_there()) std::this_thread::yield();
      letters.check();
      for (int r = 0; r < 3; ++r)
        CHECK(text_of(letters.said(r, bytes_of(mine))) ==
              "rank " + std::to_string(r) + " at " + std::to_string(k) + std::string(static_cast<std::size_t>(k % 3), '!'));
    }
  });
  CHECK(said == nothing(3));
  CHECK(folder.files() == 6);
}

TEST_CASE("a letter that is longer than its head has room for is read where it is to be; another length is T10") {
  const Folder folder{"letters_long"};
  std::vector<std::byte> all(100'000), there(all.size()), half(all.size() / 2);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * 7);
  const std::vector<std::string> said = said_by(2, [&](int rank) {
    FolderLetters letters{folder.path, rank, 2};
    for (int k = 0; k < 2; ++k) {
      letters.post("share", rank == 0 ? std::span<const std::byte>{all} : std::span<const std::byte>{});
      while (!letters.all_there()) std::this_thread::yield();
      if (rank == 1) letters.read(0, letters.said(0, {}), k == 0 ? there : half);
    }
  });
  CHECK(there == all);
  CHECK(said[0].empty());
  CHECK(said[1] == "[heddle.T10] rank 0 shares 100000 bytes, and rank 1 takes 50000. Fix: make the same calls in the same order in every process.");
}

TEST_CASE("T10: ranks at different exchanges are told where both are, in all of them") {
  const Folder folder{"letters_apart"};
  const std::vector<std::string> said = said_by(3, [&](int rank) {
    FolderLetters letters{folder.path, rank, 3};
    letters.post(rank == 2 ? "share of rank 1" : "a call", {});
    while (!letters.all_there()) std::this_thread::yield();
    letters.check();
  });
  for (const std::string& words : said)
    CHECK(words == "[heddle.T10] rank 0 is at 'a call', rank 2 at 'share of rank 1'. Fix: make the same calls in the same order in every process.");
}

TEST_CASE("a letter that is cut is not there, whatever the one before it has said") {
  const Folder folder{"letters_cut"};
  FolderLetters writer{folder.path, 1, 2}, reader{folder.path, 0, 2};
  const std::string words(600, 'a'), more(600, 'b');
  for (const std::string& said : {words, words}) {
    writer.post("a call", bytes_of(said));
    reader.post("a call", {});
    CHECK(reader.all_there());
  }
  writer.post("a call", bytes_of(more));
  std::ifstream whole{folder.path / "1.0", std::ios::binary};
  const std::string before{std::istreambuf_iterator<char>{whole}, {}};
  fs::resize_file(folder.path / "1.0", 112 + 100);
  reader.post("a call", {});
  CHECK(reader.missing(1));
  writer.board().put("1.0", {bytes_of(before)});
  CHECK_FALSE(reader.missing(1));
}

TEST_CASE("R38: a letter with other bytes than its rank has written is not taken, be it short or long") {
  const Folder folder{"letters_changed"};
  FolderLetters writer{folder.path, 1, 2}, reader{folder.path, 0, 2};
  const auto change = [&](const std::string& file, long at) {
    std::fstream changed{folder.path / file, std::ios::in | std::ios::out | std::ios::binary};
    changed.seekp(at);
    changed << 'x';
  };
  const auto expected = [&](const std::string& file) {
    return "[heddle.R38] the folder '" + folder.text() + "' in which processes meet has other bytes in the file '" + file +
           "' than rank 1 has written. Fix: ";
  };
  const std::string words(600, 'a'), more(9'000, 'b');
  writer.post("a call", bytes_of(words));
  reader.post("a call", {});
  change("1.0", 112 + 599);
  CHECK(begins(said_by(1, [&](int) { static_cast<void>(reader.missing(1)); })[0], expected("1.0")));
  writer.post("a call", bytes_of(more));
  reader.post("a call", {});
  change("1.1", 112 + 8'999);
  CHECK_FALSE(reader.missing(1));
  std::vector<std::byte> room(more.size());
  CHECK(begins(said_by(1, [&](int) { reader.read(1, reader.said(1, {}), room); })[0], expected("1.1")));
}

TEST_CASE("T10: the name of an exchange that has no end is read to the end of its place, and commands no terminal") {
  const Folder folder{"letters_endless"};
  FolderLetters writer{folder.path, 1, 2}, reader{folder.path, 0, 2};
  writer.post("a call", {});
  reader.post("a call", {});
  std::fstream file{folder.path / "1.0", std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(32);
  file << std::string(78, 'x') << "\x1b\n";
  file.close();
  CHECK_FALSE(reader.missing(1));
  const std::string said = said_by(1, [&](int) { reader.check(); })[0];
  CHECK(said == "[heddle.T10] rank 0 is at 'a call', rank 1 at '" + std::string(78, 'x') +
                    "?'. Fix: make the same calls in the same order in every process.");
}
