// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_last_words.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace heddle;

namespace {

int own_process() {
  int process = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &process);
  return process;
}

}  // namespace

TEST_CASE("processes that end for one reason know it, and those that end for several know that all have ended") {
  const int process = own_process();
  CHECK(compare_last_words(MPI_COMM_WORLD, 7) == HowProcessesEnd::with_one_sentence);
  CHECK(compare_last_words(MPI_COMM_WORLD, process == 1 ? 8 : 7) == HowProcessesEnd::together);
  CHECK(compare_last_words(MPI_COMM_SELF, 7) == HowProcessesEnd::with_one_sentence);
}

TEST_CASE("while one process goes on, the others end alone, and so does that one when its time comes") {
  const bool goes_on = own_process() == 2;
  if (goes_on) std::this_thread::sleep_for(std::chrono::milliseconds{400});
  CHECK(compare_last_words(MPI_COMM_WORLD, 7, std::chrono::milliseconds{200}) == HowProcessesEnd::alone);
  MPI_Barrier(MPI_COMM_WORLD);  // process 0 has taken the words of process 2 before MPI ends
}

TEST_CASE("while process 0 goes on, the others end alone") {
  const bool goes_on = own_process() == 0;
  if (!goes_on) CHECK(compare_last_words(MPI_COMM_WORLD, 7, std::chrono::milliseconds{100}) == HowProcessesEnd::alone);
  MPI_Barrier(MPI_COMM_WORLD);
  if (goes_on) CHECK(compare_last_words(MPI_COMM_WORLD, 7) == HowProcessesEnd::with_one_sentence);  // the words of all the others were waiting
  MPI_Barrier(MPI_COMM_WORLD);
}
