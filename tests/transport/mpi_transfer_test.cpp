// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_transfer.hpp"

#include <doctest/doctest.h>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

namespace {
void complete(MpiTransfer& transfer) {
  while (!transfer.advance()) std::this_thread::yield();
}
}  // namespace

TEST_CASE("a transfer completes when both sides have started it, in either order and for any length") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  for (const std::size_t length : {0U, 1U, 100U, 100000U})
    for (const int sender : {0, 1}) {
      std::vector<float> data(length, static_cast<float>(comm.rank()));
      MpiTransfer transfer;
      CHECK(transfer.done());  // nothing was started
      if (comm.rank() == sender)
        transfer.start_send(comm.get(), comm.rank(), 1 - sender, 3, 7, {}, data.data(), static_cast<std::int64_t>(length));
      else
        transfer.start_receive(comm.get(), comm.rank(), sender, 3, 7, {}, data.data(), static_cast<std::int64_t>(length));
      transfer.each_missing([&](int rank) { CHECK(rank == 1 - comm.rank()); });
      CHECK((transfer.needs(1 - comm.rank()) && !transfer.needs(comm.rank())));
      complete(transfer);
      CHECK_NOTHROW(transfer.check_counts());
      CHECK(data == std::vector<float>(length, static_cast<float>(sender)));
    }
}

TEST_CASE("elements move when the other side has come") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  float value = 1;
  MpiTransfer transfer;
  if (comm.rank() == 0) {
    transfer.start_send(comm.get(), 0, 1, 0, 5, {}, &value, 1);
    CHECK_FALSE((transfer.advance() || transfer.moves()));
  }
  MPI_Barrier(ranks.get());
  if (comm.rank() == 1) transfer.start_receive(comm.get(), 1, 0, 0, 5, {}, &value, 1);
  complete(transfer);
  CHECK(transfer.moves());
}

TEST_CASE("counts that differ are named on both sides, nothing is written, and the next transfer is not disturbed") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  for (const std::int64_t sent : {3, 9, 90000}) {
    std::vector<float> data(90000, static_cast<float>(comm.rank() + 1));
    MpiTransfer transfer;
    if (comm.rank() == 0)
      transfer.start_send(comm.get(), 0, 1, 0, 5, {}, data.data(), sent);
    else
      transfer.start_receive(comm.get(), 1, 0, 0, 5, {}, data.data(), 4);
    complete(transfer);
    CHECK_THROWS_WITH_AS(transfer.check_counts(),
                         doctest::Contains(("rank 0 sends " + std::to_string(sent) + " elements, rank 1 receives 4, sequence 5").c_str()), Error);
    CHECK(data == std::vector<float>(90000, static_cast<float>(comm.rank() + 1)));
  }
}

TEST_CASE("sides that are in different calls are told so on both") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  float value = 1;
  MpiTransfer transfer;
  CallPledge call{.learning_rate = comm.rank() == 1 ? 0.5F : 0.25F, .rows = 16, .number = 5, .call = CallPledge::step};
  if (comm.rank() == 0)
    transfer.start_send(comm.get(), 0, 1, 0, 5, call, &value, 1);
  else
    transfer.start_receive(comm.get(), 1, 0, 0, 5, call, &value, 1);
  complete(transfer);
  CHECK_THROWS_WITH_AS(transfer.check_counts(), doctest::Contains("[heddle.O02] rank 0 makes step 5 with learning_rate 0.25, rank 1 with 0.5. Fix: "),
                       Error);
}
