// SPDX-License-Identifier: MIT
#include "heddle/transport/folder_handshake.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <thread>

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
  CHECK(begins(said[1], "[heddle.R03] rank 0 of 2 did not come to the folder '"));
}

TEST_CASE("two runs that meet one after the other in one folder, while both are there, never see each other") {
  const Folder folder{"handshake_runs"};
  std::vector<fs::path> one, other;
  CHECK(met(folder, 2, one) == nothing(2));
  CHECK(met(folder, 3, other) == nothing(3));
  CHECK(one[0] != other[0]);
}
