// SPDX-License-Identifier: MIT
#include "heddle/backend/world_mpi.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

namespace {

/// What is refused with these values of torchrun's variables; null: not set.
std::string refusal(const char* size, const char* rank) {
  size == nullptr ? unsetenv("WORLD_SIZE") : setenv("WORLD_SIZE", size, 1);
  rank == nullptr ? unsetenv("RANK") : setenv("RANK", rank, 1);
  std::string said;
  try {
    const bool same = agreed_world() == MpiProcess::instance().world();
    CHECK(same);
  } catch (const Error& error) {
    said = error.what();
  }
  unsetenv("WORLD_SIZE");
  unsetenv("RANK");
  return said;
}

}  // namespace

TEST_CASE("variables that torchrun sets say what MPI says, or are refused with both numbers") {
  const FirstRanks four{4};
  const std::string mine = std::to_string(four.rank());
  CHECK(refusal(nullptr, nullptr) == "");
  CHECK(refusal("4", nullptr) == "");
  CHECK(refusal("4", mine.c_str()) == "");
  CHECK(refusal(nullptr, "17") == "");  // without a world the name may mean anything
  CHECK(refusal("3", mine.c_str()) ==
        "[heddle.R03] WORLD_SIZE says 3 processes, but MPI has started 4. Fix: start them with mpirun -np 3, or unset WORLD_SIZE.");
  const std::string same = refusal("4", "0");  // a launcher that gives all of them one rank
  if (four.rank() == 0)
    CHECK(same == "");
  else
    CHECK(same == "[heddle.R10] RANK is 0, but MPI has made this process rank " + mine +
                      " of 4. Fix: start with mpirun alone, or unset RANK and WORLD_SIZE.");
  CHECK(refusal("many", "0").find("[heddle.R20] WORLD_SIZE is 'many'") == 0);
}

TEST_CASE("an odd number of processes is as good as any other, and known") {
  const FirstRanks three{3};
  if (!three.taking_part()) return;
  CHECK(refusal("3", std::to_string(three.rank()).c_str()) == "");
  CHECK(refusal("4", nullptr).find("WORLD_SIZE says 4 processes, but MPI has started 3") != std::string::npos);
}

TEST_CASE("a process that has lost a silent rank says so and waits for nobody's last words; one that has heard of all compares them") {
  int process = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &process);
  const auto letter_is_there = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    int there = 0;
    if (process == 0) MPI_Iprobe(1, tag_of_last_words, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return there != 0;
  };
  MpiProcess::instance().finalize_at_the_end(false);
  if (process > 0) tell_among_processes({"[heddle.R01] rank 0 was lost: a test says so.", true, {}});
  CHECK_FALSE(letter_is_there());
  CHECK_FALSE(MpiProcess::instance().finalizes_at_the_end());
  MpiProcess::instance().finalize_at_the_end(true);
  tell_among_processes({"[heddle.R01] rank 0 was lost: a test says so.", true, {}});
  CHECK(MpiProcess::instance().finalizes_at_the_end());  // all have spoken
}
