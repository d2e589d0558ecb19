// SPDX-License-Identifier: MIT
#include "heddle/transport/folder_meeting.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <numeric>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;
using namespace std::chrono_literals;

namespace {

StartPledge start_of(int ranks) { return {.program = 77, .ranks = ranks, .seed = 3}; }
CallPledge step(int number, int rows = 16) { return {.rows = rows, .number = number, .call = CallPledge::step}; }

}  // namespace

TEST_CASE("processes compare steps and share bytes, also many, and leave nothing in the folder") {
  const Folder folder{"meeting"};
  std::vector<float> large(20'000'000 / 4);
  std::iota(large.begin(), large.end(), 1.0F);
  const std::vector<std::string> said = said_by(4, [&](int rank) {
    FolderMeeting meeting{{folder.text(), rank, 4}, start_of(4), 20s};
    CHECK(meeting.rank() == Rank{rank});
    CHECK(meeting.local_rank() == rank);
    CHECK(meeting.machine() == this_machine());
    for (int s = 0; s < 10; ++s) {
      meeting.begin_call(step(s));
      meeting.end_call();
      int told = 10 * s + rank;
      meeting.share(Rank{s % 4}, std::as_writable_bytes(std::span{&told, 1}));
      CHECK(told == 10 * s + s % 4);
    }
    std::vector<float> there = rank == 2 ? large : std::vector<float>(large.size());
    meeting.share(Rank{2}, std::as_writable_bytes(std::span{there}));
    CHECK(there == large);
  });
  CHECK(said == nothing(4));
  CHECK(folder.files() == 0);
}

TEST_CASE("a gather gives every process what each has written, in one exchange; T10 where the parts are of other sizes") {
  const Folder folder{"meeting_gather"};
  const std::vector<std::string> said = said_by(4, [&](int rank) {
    FolderMeeting meeting{{folder.text(), rank, 4}, start_of(4), 20s};
    for (const std::size_t numbers : {std::size_t{1}, StartPledge::most_bytes / sizeof(int)}) {
      std::vector<int> all(4 * numbers, 100 + rank);
      meeting.gather(std::as_writable_bytes(std::span{all}));
      for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == 100 + static_cast<int>(i / numbers));
    }
    std::vector<std::byte> odd(rank == 2 ? 12 : 8);
    meeting.gather(odd);
  });
  for (int r = 0; r < 4; ++r)
    CHECK(begins(said[static_cast<std::size_t>(r)], r == 2 ? "[heddle.T10] rank 0 shares 2 bytes, and rank 2 takes 3"
                                                           : "[heddle.T10] rank 2 shares 3 bytes, and rank " + std::to_string(r) + " takes 2"));
  CHECK(folder.files() == 0);
}

TEST_CASE("R08, R18: other programs and seeds are told in all processes before the first call, R03 another number of processes") {
  const Folder folder{"meeting_starts"};
  const auto begin = [&](auto change) {
    return said_by(3, [&](int rank) {
      StartPledge start = start_of(3);
      if (rank == 1) change(start);
      static_cast<void>(FolderMeeting{{folder.text(), rank, 3}, start, 20s});
    });
  };
  for (const std::string& words : begin([](StartPledge& start) { start.program = 78; }))
    CHECK(words == "[heddle.R08] rank 1 runs another program than ranks 0 and 2. Fix: start the same binary with the same plan in every process.");
  for (const std::string& words : begin([](StartPledge& start) { start.seed = 4; }))
    CHECK(begins(words, "[heddle.R18] rank 1 starts with another seed"));
  CHECK(folder.files() == 0);
  const std::vector<std::string> said = said_by(2, [&](int rank) { static_cast<void>(FolderMeeting{{folder.text(), rank, 2}, start_of(3), 20s}); });
  CHECK(said[1] ==
        "[heddle.R03] the plan has 3 devices, but this process is rank 1 of 2. Fix: start 3 processes, with torchrun, srun, or RANK and "
        "WORLD_SIZE set in each.");
}

TEST_CASE("T10: all are told of a step with other rows, and of another call") {
  const Folder folder{"meeting_calls"};
  for (const std::string& words : said_by(3, [&](int rank) {
         FolderMeeting meeting{{folder.text(), rank, 3}, start_of(3), 20s};
         meeting.begin_call(step(7, rank == 2 ? 12 : 16));
       }))
    CHECK(words == "[heddle.T10] rank 0 makes step 7 with 16 rows, rank 2 with 12. Fix: give every process the whole batch.");
  int number = 0;
  for (const std::string& words : said_by(2, [&](int rank) {
         FolderMeeting meeting{{folder.text(), rank, 2}, start_of(2), 20s};
         if (rank == 0) meeting.begin_call(step(1));
         meeting.share(Rank{0}, std::as_writable_bytes(std::span{&number, 1}));
       }))
    CHECK(words == "[heddle.T10] rank 0 is at 'a call', rank 1 at 'share of rank 0'. Fix: make the same calls in the same order in every process.");
}

TEST_CASE("R01: a process that throws is told to all, with its reason; so is one whose trainer is gone") {
  const Folder folder{"meeting_lost"};
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::string> said = said_by(3, [&](int rank) {
    FolderMeeting meeting{{folder.text(), rank, 3}, start_of(3), 30s};
    for (int s = 0; s < 3; ++s) {
      meeting.begin_call(step(s));
      if (rank == 1 && s == 2) {
        meeting.give_up(Rank{1}, "the disk is on fire");
        throw Error(Code{'D', 3}, "the disk is on fire");
      }
      meeting.end_call();
    }
    meeting.begin_call(step(3));
  });
  CHECK(begins(said[0], "[heddle.R01] rank 1 was lost at a call, sequence 4: the disk is on fire."));
  CHECK(said[1] == "[heddle.D03] the disk is on fire");
  CHECK(begins(said[2], "[heddle.R01] rank 1 was lost at a call, sequence 4: the disk is on fire."));
  said = said_by(2, [&](int rank) {
    FolderMeeting meeting{{folder.text(), rank, 2}, start_of(2), 4s};
    if (rank == 1) meeting.begin_call(step(1));
  });
  CHECK(begins(said[1], "[heddle.R01] rank 0 was lost at a call, sequence 1: its part in the plan has ended, because its trainer is gone."));
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("R38: a folder that is gone is told by the next call, and giving up there says nothing more") {
  const Folder folder{"meeting_gone"};
  const std::vector<std::string> said = said_by(1, [&](int) {
    FolderMeeting meeting{{folder.text(), 0, 1}, start_of(1), 20s};
    fs::remove_all(folder.path);
    try {
      meeting.begin_call(step(1));
    } catch (const Error& error) {
      meeting.give_up(Rank{0}, error.what());
      throw;
    }
  });
  CHECK(begins(said[0], "[heddle.R38] the folder '" + folder.text() + "/met_"));
  CHECK(has(said[0], "' in which processes meet takes no file of this process"));
}

TEST_CASE("R01: of a process that ends by exit() in a call its last words tell; of one that is killed the deadline") {
  for (const bool killed : {false, true}) {
    const Folder folder{"meeting_ends"};
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      static FolderMeeting meeting{{folder.text(), 1, 2}, start_of(2), 20s};  // never destroyed before exit()
      meeting.begin_call(step(1));
      if (killed) _exit(9);
      std::exit(3);
    }
    const std::vector<std::string> said = said_by(1, [&](int) {
      FolderMeeting meeting{{folder.text(), 0, 2}, start_of(2), killed ? 600ms : 20s};
      meeting.begin_call(step(1));
      meeting.end_call();
      meeting.begin_call(step(2));
    });
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == (killed ? 9 : 3));
    CHECK(has(said[0], killed
                           ? "[heddle.R01] rank 1 was lost at a call, sequence 2: it started nothing within the deadline of 600 ms"
                           : "[heddle.R01] rank 1 was lost at a call, sequence 2: its process has ended in the middle of the plan, by exit() or by"));
  }
}

TEST_CASE("a process that a rank has forked says nothing when it exits: the run goes on") {
  const Folder folder{"meeting_forks"};
  std::cout.flush();
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t child = fork();
    ranks.push_back(child);
    if (child != 0) continue;
    const std::vector<std::string> said = [&] {
      try {
        FolderMeeting meeting{{folder.text(), rank, 2}, start_of(2), 20s};
        for (int s = 0; s < 3; ++s) {
          meeting.begin_call(step(s));
          if (s == 1 && rank == 1) {
            const pid_t loader = fork();
            if (loader == 0) std::exit(0);  // in the middle of a call
            waitpid(loader, nullptr, 0);
          }
          meeting.end_call();
        }
        return std::vector<std::string>{""};
      } catch (const std::exception& error) {
        return std::vector<std::string>{error.what()};
      }
    }();
    _exit(said[0].empty() ? 0 : 1);
  }
  for (const pid_t rank : ranks) {
    int status = -1;
    waitpid(rank, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("R38, R01: where processes of two runs have met, one more of them ends all, in the middle of what they do") {
  const Folder folder{"meeting_two_runs"};
  int told[2];
  REQUIRE(pipe(told) == 0);
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {  // rank 0 of the other run comes when two have met
    char met = 0;
    static_cast<void>(!read(told[0], &met, 1));
    const std::string words = said_by(1, [&](int) { static_cast<void>(FolderMeeting{{folder.text(), 0, 2}, start_of(2), 20s}); })[0];
    _exit(begins(words, "[heddle.R38] another process is rank 0 in the folder '" + folder.text() + "' too. Fix: give each run") ? 0 : 1);
  }
  for (const std::string& words : said_by(2, [&](int rank) {
         FolderMeeting meeting{{folder.text(), rank, 2}, start_of(2), 20s};
         for (int s = 0; s < 100'000; ++s) {
           meeting.begin_call(step(s));
           meeting.end_call();
           if (s == 3 && rank == 0) static_cast<void>(!write(told[1], "m", 1));
           std::this_thread::sleep_for(100us);
         }
       })) {
    CAPTURE(words);
    CHECK(begins(words, "[heddle.R01] rank 0 was lost at a call, sequence "));
    CHECK(has(words, ": another process is rank 0 in the folder '" + folder.text() + "' too. Fix: give each run a folder of its own"));
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  for (const int end : told) close(end);
}
