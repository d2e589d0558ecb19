// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_exchange.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

TEST_CASE("everybody has what the owner had, whoever it is") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiShare share{comm};
  std::int64_t number = 0;
  for (int owner = 0; owner < 4; ++owner)
    for (const std::size_t bytes : {0U, 1U, 100000U, 3'000'000U})  // the last in three pieces
    {
      std::vector<std::byte> values(bytes, static_cast<std::byte>(comm.rank() + 1));
      share.start(owner, number++, values);
      CHECK(share.needs(owner));
      while (!share.done()) std::this_thread::yield();
      CHECK_NOTHROW(share.check());
      CHECK(values == std::vector<std::byte>(bytes, static_cast<std::byte>(owner + 1)));
    }
  CHECK(share.describe() == "sharing what rank 3 holds");
}

TEST_CASE("an owner that shares something else is told apart, and its bytes are not taken") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiShare share{comm};
  std::vector<std::byte> values(comm.rank() == 1 ? 8 : 4, static_cast<std::byte>(comm.rank()));
  share.start(1, comm.rank() == 1 ? 4 : 5, values);
  while (!share.done()) std::this_thread::yield();
  if (comm.rank() == 1)
    CHECK_NOTHROW(share.check());
  else
    CHECK_THROWS_WITH_AS(share.check(),
                         doctest::Contains(("[heddle.T09] rank 1 shares 8 bytes as number 4 with the others, rank " + std::to_string(comm.rank()) +
                                            " expects 4 bytes as number 5. Fix: make the same calls in the same order in every process")
                                               .c_str()),
                         Error);
  CHECK(values == std::vector<std::byte>(values.size(), static_cast<std::byte>(comm.rank())));
}

TEST_CASE("an owner names the one that has not taken its bytes") {
  const FirstRanks ranks{4};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiShare share{comm};
  std::vector<std::byte> values(1 << 20);
  if (comm.rank() != 2) share.start(0, 0, values);
  std::vector<int> missing;
  const std::vector<int> wanted = comm.rank() == 0 ? std::vector<int>{2} : std::vector<int>{};
  do {
    (void)share.done();
    missing.clear();
    share.each_missing([&](int rank) { missing.push_back(rank); });
  } while (comm.rank() != 2 && missing != wanted);
  MPI_Barrier(ranks.get());
  if (comm.rank() == 2) share.start(0, 0, values);
  while (!share.done()) std::this_thread::yield();
}

TEST_CASE("processes that pledge the same agree, others are named everywhere") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  const auto agree = [&](StartPledge mine) {
    MpiAgreement agreement{comm, mine};
    while (!agreement.done()) std::this_thread::yield();
    agreement.check();
  };
  const auto odd = [&](int rank) { return comm.rank() == rank; };
  CHECK_NOTHROW(agree({.program = 7, .ranks = 4}));
  CHECK_THROWS_WITH_AS(agree({.program = odd(3) ? 8U : 7U, .ranks = 4}),
                       doctest::Contains("[heddle.R08] rank 3 runs another program than ranks 0, 1 and 2."), Error);
  CHECK_THROWS_WITH_AS(agree({.program = 7, .ranks = comm.rank() < 2 ? 2 : 4}),
                       doctest::Contains("ranks 2 and 3 run another program than ranks 0 and 1."), Error);
  CHECK_THROWS_WITH_AS(agree({.seed = odd(1) ? 5U : 6U}),
                       doctest::Contains("[heddle.R18] rank 1 starts with another seed than ranks 0, 2 and 3: rank 1 with 5, rank 0 with 6."), Error);
  CHECK_THROWS_WITH_AS(
      agree({.learning_rate = odd(0) ? 0.5F : 0.25F}),
      doctest::Contains("[heddle.O02] rank 0 starts with another learning_rate than ranks 1, 2 and 3: rank 0 with 0.5, rank 1 with 0.25."), Error);
}

TEST_CASE("another version of Heddle is told, whether it says less or more at the start") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  for (const std::size_t bytes : {32U, 40U, 48U, 4096U}) {
    if (comm.rank() == 1) {
      const std::vector<char> mine(bytes, 'x');
      std::vector<std::vector<char>> theirs(4, std::vector<char>(StartPledge::most_bytes));
      std::vector<MPI_Request> requests;
      for (int rank = 0; rank < 4; ++rank) {
        if (rank == 1) continue;
        MPI_Isend(mine.data(), static_cast<int>(bytes), MPI_BYTE, rank, 2, comm.get(), &requests.emplace_back());
        MPI_Irecv(theirs[static_cast<std::size_t>(rank)].data(), StartPledge::most_bytes, MPI_BYTE, rank, 2, comm.get(), &requests.emplace_back());
      }
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    } else {
      MpiAgreement agreement{comm, {.program = 7, .ranks = 4}};
      while (!agreement.done()) std::this_thread::yield();
      CHECK_THROWS_WITH_AS(
          agreement.check(),
          doctest::Contains("[heddle.R08] rank 1 runs another version of Heddle than ranks 0, 2 and 3: rank 1 with an earlier one, "), Error);
    }
    MPI_Barrier(ranks.get());
  }
}

TEST_CASE("the one that has not come to the start is the one that is missing") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  for (int late = 0; late < 4; ++late) {
    if (comm.rank() == late) MPI_Barrier(ranks.get());
    MpiAgreement agreement{comm, {.program = 7, .ranks = 4}};
    std::vector<int> missing{-1};
    while (comm.rank() != late && missing != std::vector<int>{late}) {
      missing.clear();
      agreement.each_missing([&](int rank) { missing.push_back(rank); });
    }
    if (comm.rank() != late) MPI_Barrier(ranks.get());
    while (!agreement.done()) std::this_thread::yield();
    CHECK_NOTHROW(agreement.check());
  }
}
