// SPDX-License-Identifier: MIT
// Room: transport. Processes that end with a sentence find out whether all others end with the same one, so that one of them says it.
// Sees: transport/mpi_process, MPI.  Does not see: errors, plans.
// In: a communicator, the sentence as a number.  Out: HowProcessesEnd, the same in all processes that take part in time.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "heddle/transport/mpi_process.hpp"

namespace heddle::transport_room {

/// How a process ends: while others go on, with all others, or with all others and for the same reason.
enum class HowProcessesEnd : std::uint64_t { alone = 1, together = 2, with_one_sentence = 3 };

/// No message of a plan has it.
inline constexpr int tag_of_last_words = 31'401;

/// What is on its way between process 0 and the others; it stays until the process ends.
struct LastWords {
  std::uint64_t mine = 0;
  HowProcessesEnd verdict = HowProcessesEnd::alone;
  std::vector<std::uint64_t> theirs;
  std::vector<MPI_Request> letters;

  [[nodiscard]] bool arrive_within(std::chrono::nanoseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    int all = 0;
    while (true) {
      MPI_Testall(static_cast<int>(letters.size()), letters.data(), &all, MPI_STATUSES_IGNORE);
      if (all != 0 || std::chrono::steady_clock::now() >= end) return all != 0;
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }
};

/// Process 0 collects the numbers of all and tells what it found; the others wait half as long again, so that they hear of it.
/// Messages have a tag of their own: a collective here could meet one of the program's in a process that goes on.
///
/// Moves   16 bytes for each process but the first, once
/// Tested  transport/mpi_last_words_test, processes/mains_check
[[nodiscard]] inline HowProcessesEnd compare_last_words(MPI_Comm world, std::uint64_t sentence,
                                                        std::chrono::nanoseconds patience = std::chrono::seconds{2}) {
  constexpr int tag = tag_of_last_words;
  constexpr int bytes = sizeof(std::uint64_t);
  int process = 0;
  int processes = 1;
  MPI_Comm_rank(world, &process);
  MPI_Comm_size(world, &processes);
  const auto words = std::make_shared<LastWords>();
  MpiProcess::instance().keep(words);
  words->mine = sentence;
  if (process > 0) {
    words->letters.assign(2, MPI_REQUEST_NULL);
    MPI_Isend(&words->mine, bytes, MPI_BYTE, 0, tag, world, &words->letters[0]);
    MPI_Irecv(&words->verdict, bytes, MPI_BYTE, 0, tag, world, &words->letters[1]);
    return words->arrive_within(patience + patience / 2) ? words->verdict : HowProcessesEnd::alone;
  }
  const auto others = static_cast<std::size_t>(processes - 1);
  words->theirs.assign(others, 0);
  words->letters.assign(others, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < others; ++i) MPI_Irecv(&words->theirs[i], bytes, MPI_BYTE, static_cast<int>(i) + 1, tag, world, &words->letters[i]);
  if (words->arrive_within(patience)) {
    const bool same = std::all_of(words->theirs.begin(), words->theirs.end(), [&](std::uint64_t other) { return other == sentence; });
    words->verdict = same ? HowProcessesEnd::with_one_sentence : HowProcessesEnd::together;
  }
  const HowProcessesEnd found = words->verdict;
  const auto answers = std::make_shared<LastWords>();
  MpiProcess::instance().keep(answers);
  answers->verdict = found;
  answers->letters.assign(others, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < others; ++i) MPI_Isend(&answers->verdict, bytes, MPI_BYTE, static_cast<int>(i) + 1, tag, world, &answers->letters[i]);
  return answers->arrive_within(patience) ? found : HowProcessesEnd::alone;
}

}  // namespace heddle::transport_room
