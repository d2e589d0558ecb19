// SPDX-License-Identifier: MIT
#include "heddle/transport/rank_claim.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <iostream>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;

namespace {

/// What `body` returns in a process of its own, which then ends as one that is killed.
template <class Body> int in_another_process(Body body) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a rank is claimed by one process that lives, however often and by whatever name of the folder it does") {
  const Folder folder{"claim"};
  const NoticeBoard board{folder.path}, same{folder.path / "."};
  const RankClaim first{board, 3}, again{same, 3}, other{board, 2};
  CHECK_FALSE(first.refused());
  CHECK(again.number() == first.number());
  CHECK(other.number() != first.number());
  CHECK(in_another_process([&] { return RankClaim{board, 3}.refused() ? 1 : 0; }) == 1);
  CHECK(in_another_process([&] { return RankClaim{board, 4}.refused() ? 1 : 0; }) == 0);
  CHECK(std::distance(fs::directory_iterator{folder.path}, {}) == 3);  // ranks 2 and 3, and the 4 of a process that is dead
}

TEST_CASE("what a dead process has left counts for nothing, also where it is no file of a claim") {
  const Folder folder{"claim_stale"};
  const NoticeBoard board{folder.path};
  CHECK(in_another_process([&] { return RankClaim{board, 0}.refused() ? 1 : 0; }) == 0);
  std::ofstream{folder.path / "rank_1.held"} << "x";
  CHECK(fs::exists(folder.path / "rank_0.held"));
  CHECK_FALSE(RankClaim{board, 0}.refused());
  CHECK_FALSE(RankClaim{board, 1}.refused());
  CHECK(in_another_process([&] { return RankClaim{board, 0}.refused() && RankClaim{board, 1}.refused() ? 1 : 0; }) == 1);
}

TEST_CASE("what a rank has forked does not keep the rank when it is dead, and takes it from no living one") {
  const Folder folder{"claim_forked"};
  const NoticeBoard board{folder.path};
  int told[2], ends[2];
  REQUIRE((pipe(told) == 0 && pipe(ends) == 0));
  const int code = in_another_process([&] {
    const RankClaim mine{board, 0};
    if (fork() == 0) {
      close(ends[1]);
      char none = 0;
      static_cast<void>(!write(told[1], "f", 1));
      static_cast<void>(!read(ends[0], &none, 1));  // it outlives the rank
      _exit(0);
    }
    char forked = 0;
    static_cast<void>(!read(told[0], &forked, 1));
    return in_another_process([&] { return RankClaim{board, 0}.refused() ? 1 : 0; });
  });
  CHECK(code == 1);
  CHECK_FALSE(RankClaim{board, 0}.refused());
  for (const int file : {told[0], told[1], ends[0], ends[1]}) close(file);
}

TEST_CASE("of many processes that claim a rank over what a dead one has left, one alone has it") {
  const Folder folder{"claim_race"};
  const NoticeBoard board{folder.path};
  for (int trial = 0; trial < 20; ++trial) {
    std::ofstream{folder.path / "rank_0.held"} << "of a dead process";
    int start[2], ends[2];
    REQUIRE((pipe(start) == 0 && pipe(ends) == 0));
    std::vector<pid_t> children;
    for (int n = 0; n < 6; ++n) {
      std::cout.flush();
      if (const pid_t child = fork(); child == 0) {
        close(start[1]);
        close(ends[0]);
        char none = 0;
        static_cast<void>(read(start[0], &none, 1));
        const bool refused = RankClaim{board, 0}.refused();
        static_cast<void>(!write(ends[1], refused ? "r" : "h", 1));
        pause();  // it lives until all have claimed
        _exit(0);
      } else
        children.push_back(child);
    }
    close(start[0]);
    close(start[1]);
    int holders = 0;
    for (std::size_t n = 0; n < children.size(); ++n) {
      char said = 0;
      REQUIRE(read(ends[0], &said, 1) == 1);
      holders += said == 'h' ? 1 : 0;
    }
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    CHECK(holders == 1);
  }
}

TEST_CASE("a place is spoiled for the processes that have a rank there, and for none that comes after them") {
  const Folder folder{"claim_spoiled"};
  const NoticeBoard board{folder.path};
  const RankClaim mine{board, 1};
  CHECK_FALSE(SpoiledPlace::told(board, 1, mine));
  SpoiledPlace::tell(board, 7);
  CHECK(SpoiledPlace::told(board, 1, mine) == 7);
  const RankClaim other{board, 0};
  CHECK_FALSE(SpoiledPlace::told(board, 0, other));
  fs::remove(folder.path / "rank_1.held");
  CHECK_FALSE(SpoiledPlace::told(board, 1, RankClaim{board, 1}));
}
