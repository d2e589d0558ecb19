// SPDX-License-Identifier: MIT
#include "heddle/transport/folder_handshake.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <fstream>
#include <iostream>
#include <thread>
#include <utility>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> met(const Folder& folder, int ranks, std::vector<fs::path>& where, std::chrono::nanoseconds late = 0ns, bool clears = true) {
  where.assign(static_cast<std::size_t>(ranks), {});
  return said_by(ranks, [&](int rank) {
    std::this_thread::sleep_for(rank * late);
    const FolderHandshake shake{{folder.text(), rank, ranks}, 10s};
    where[static_cast<std::size_t>(rank)] = shake.folder();
    for (const NameOfMachine& machine : shake.machines())
      if (!(machine == this_machine())) throw Error(Code{'R', 38}, "another machine");
    if (!clears) return;
    std::this_thread::sleep_for(50ms);  // until all have left it
    shake.clear();
  });
}

}  // namespace

TEST_CASE("ranks that come in any order leave with one folder, which is in the one that they were given, and clear what they wrote") {
  const Folder folder{"handshake"};
  for (const auto late : {0ms, 20ms}) {
    std::vector<fs::path> where;
    CHECK(met(folder, 4, where, late) == nothing(4));
    for (const fs::path& one : where) CHECK(one == where[0]);
    CHECK(where[0].parent_path() == folder.path);
    CHECK(folder.files() == 0);
  }
}

TEST_CASE("what an earlier run has left is nobody: ranks wait for those of this run, and meet in another folder than that run") {
  const Folder folder{"handshake_stale"};
  std::vector<fs::path> before, now;
  CHECK(met(folder, 3, before, 0ms, false) == nothing(3));
  CHECK(folder.files() == 3);
  CHECK(met(folder, 3, now, 100ms, false) == nothing(3));  // rank 0 finds files of all, long before the others come
  for (const fs::path& one : now) CHECK(one == now[0]);
  CHECK(now[0] != before[0]);
}

TEST_CASE("R03: ranks that do not come are named, also where an earlier run has left their files, or they count other ranks") {
  const Folder folder{"handshake_missing"};
  std::vector<fs::path> before;
  CHECK(met(folder, 4, before, 0ms, false) == nothing(4));
  const std::vector<std::string> said = said_by(3, [&](int rank) {
    const bool odd = rank == 2;
    static_cast<void>(FolderHandshake{{folder.text(), rank, odd ? 3 : 4}, 300ms});
  });
  for (const int rank : {0, 1})
    CHECK(said[static_cast<std::size_t>(rank)] ==
          "[heddle.R03] ranks 2 and 3 of 4 did not come to the folder '" + folder.text() +
              "' within 300 ms. Fix: start all ranks with this folder, let each make the same trainers in the same order, or raise the deadline.");
  CHECK(begins(said[2], "[heddle.R03] ranks 0 and 1 of 3 did not come to the folder '"));
}

TEST_CASE("R38: a process that finds another one in its place says so, as where two runs meet in one folder") {
  const Folder folder{"handshake_two"};
  const std::vector<std::string> said = said_by(2, [&](int process) {
    std::this_thread::sleep_for(process * 100ms);
    static_cast<void>(FolderHandshake{{folder.text(), 1, 2}, 600ms});  // both are rank 1, and rank 0 never comes
  });
  CHECK(said[0] == "[heddle.R38] another process is rank 1 in the folder '" + folder.text() +
                       "' too. Fix: give each run a folder of its own, and each process of it a rank of its own.");
  CHECK(said[1] == said[0]);
}

TEST_CASE("R38: a process of another run that lives is told, and so is one of this rank that has met already") {
  const Folder folder{"handshake_lives"};
  std::vector<fs::path> where;
  CHECK(met(folder, 2, where, 0ms, false) == nothing(2));
  fs::create_directory(where[0]);
  FolderWatch watch{where[0], 0, 2, 10s};
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    const std::string words = said_by(1, [&](int) { static_cast<void>(FolderHandshake{{folder.text(), 1, 2}, 20s}); })[0];
    _exit(begins(words, "[heddle.R38] another process is rank 1 in the folder '" + folder.text() + "' too. Fix: ") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(watch.await(
      "a call", [] { return false; }, [](int) { return true; }));
  CHECK(watch.spoiled());
  CHECK(watch.lost().why().find("another process is rank 1 in the folder '") == 0);
}

TEST_CASE("R20: a rank that the place does not have is told before anything is written") {
  for (const auto& [rank, ranks] : {std::pair{-1, 2}, {2, 2}, {0, 0}, {5, -1}}) {
    const Folder folder{"handshake_range"};
    const std::string words = said_by(1, [&, rank = rank, ranks = ranks](int) {
      static_cast<void>(FolderHandshake{{folder.text(), rank, ranks}, 1s});
    })[0];
    CHECK(words == "[heddle.R20] this process is said to be rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                       ". Fix: count ranks from 0, up to one less than their number.");
    CHECK(fs::is_empty(folder.path));
  }
}

TEST_CASE("a file of this process that is gone or damaged is written again: that is no other process") {
  const Folder folder{"handshake_gone"};
  std::vector<fs::path> where;
  const auto begun = std::chrono::steady_clock::now();
  std::thread other{[&] {  // before rank 1 comes: rank 0 has left when both have met, and writes nothing again
    for (int n = 0; std::chrono::steady_clock::now() - begun < 200ms; ++n) {
      if (n % 2 == 0) fs::remove(folder.path / "rank_0");
      if (n % 2 == 1) std::ofstream{folder.path / "rank_0"} << "damaged";
      std::this_thread::sleep_for(5ms);
    }
  }};
  CHECK(met(folder, 2, where, 300ms) == nothing(2));
  other.join();
}

TEST_CASE("R03 names somebody: ranks that have all met after the deadline, without time to look again, go on") {
  for (int trial = 0; trial < 20; ++trial) {
    const Folder folder{"handshake_late"};
    for (const std::string& words : said_by(3, [&](int rank) { static_cast<void>(FolderHandshake{{folder.text(), rank, 3}, 1ns}); }))
      CHECK((words.empty() || begins(words, "[heddle.R03] rank")));
  }
}

TEST_CASE("two runs that meet one after the other in one folder, while both are there, never see each other") {
  const Folder folder{"handshake_runs"};
  std::vector<fs::path> one, other;
  CHECK(met(folder, 2, one) == nothing(2));
  CHECK(met(folder, 3, other) == nothing(3));
  CHECK(one[0] != other[0]);
}
