// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_under_way.hpp"

#include <doctest/doctest.h>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

TEST_CASE("what was started goes on until it is complete, and is named by the rank that keeps it") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  std::vector<float> first(1000, static_cast<float>(comm.rank())), second(3, static_cast<float>(comm.rank()));
  MpiTransfer one, two;
  MpiUnderWay all;
  all.reserve(2, 0);
  CHECK(all.empty());
  if (comm.rank() == 0) {
    one.start_send(comm.get(), 0, 1, 0, 0, {}, first.data(), 1000);
    two.start_send(comm.get(), 0, 1, 1, 1, {}, second.data(), 3);
  } else {
    one.start_receive(comm.get(), 1, 0, 0, 0, {}, first.data(), 1000);
    two.start_receive(comm.get(), 1, 0, 1, 1, {}, second.data(), 3);
  }
  all.add(one);
  all.add(two);
  CHECK_FALSE(all.empty());
  int missing = -1;
  all.each_missing(one, [&](int rank) { missing = rank; });
  CHECK(missing == 1 - comm.rank());
  while (!all.empty()) all.progress();
  CHECK((one.done() && two.done()));
  CHECK(first == std::vector<float>(1000, 0.0F));
  CHECK(second == std::vector<float>(3, 0.0F));
}

TEST_CASE("what the other side never starts is taken back, and nothing is under way afterwards") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  float value = 1;
  MpiTransfer alone;
  MpiUnderWay all;
  if (comm.rank() == 1) {
    alone.start_receive(comm.get(), 1, 0, 0, 0, {}, &value, 1);
    all.add(alone);
    all.progress();
    CHECK_FALSE(all.empty());
    all.cancel_receives();
  }
  (void)all.abandon();
  CHECK(all.empty());
  CHECK(value == 1);
  MPI_Barrier(ranks.get());
  comm.keep();  // the count that nobody has taken
}
