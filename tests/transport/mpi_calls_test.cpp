// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_calls.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

namespace {
constexpr std::chrono::minutes patience{2};
void until(const auto& condition) {
  while (!condition()) std::this_thread::yield();
}
}  // namespace

TEST_CASE("requests complete together, one by one or in the order of their arrival") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), patience};
  const int other = 1 - comm.rank();
  CHECK((comm.size() == 2 && comm.rank() == ranks.rank() && comm.most_tag() >= 32767));
  int out = comm.rank() + 10, in[2] = {};
  MpiRequests requests{3};
  CHECK((requests.done() && requests.empty(0) && requests.any() == -1));
  requests.receive(0, comm.get(), other, 5, &in[0], sizeof out);
  requests.receive(1, comm.get(), other, 6, &in[1], sizeof out);
  CHECK_FALSE(requests.empty(0));
  requests.send(2, comm.get(), other, 6, &out, sizeof out);
  until([&] { return requests.done(1); });
  CHECK((in[1] == other + 10 && in[0] == 0 && requests.empty(1)));
  until([&] { return requests.done(2); });
  MPI_Barrier(ranks.get());  // the other has looked
  requests.send(2, comm.get(), other, 5, &out, sizeof out);
  int seen = -1;
  until([&] { return requests.done(2); });
  until([&] { return (seen = requests.any()) >= 0; });
  CHECK((seen == 0 && in[0] == other + 10));
}

TEST_CASE("a receive that nobody has matched is taken back") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), patience};
  int in = 7;
  MpiRequests requests{1};
  requests.receive(0, comm.get(), 1 - comm.rank(), 5, &in, sizeof in);
  CHECK_FALSE(requests.done());
  requests.cancel(0);
  until([&] { return requests.done(); });
  CHECK(in == 7);
}

TEST_CASE("what MPI refuses and what it cannot count are sentences") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), patience};
  int out = 0;
  MpiRequests requests{1};
  CHECK_THROWS_WITH_AS(requests.send(0, comm.get(), 2, 0, &out, sizeof out), doctest::Contains("[heddle.T06] MPI_Isend failed: "), Error);
  CHECK_THROWS_WITH_AS(requests.send(0, comm.get(), 1, 0, &out, std::size_t{1} << 31),
                       doctest::Contains("[heddle.T05] a message of 2147483648 bytes is longer than MPI counts"), Error);
}

TEST_CASE("processes that do not all come to the start are told so") {
  const FirstRanks ranks{2};
  if (ranks.rank() == 0) {
    CHECK_THROWS_WITH_AS((MpiCommunicator{ranks.get(), std::chrono::milliseconds{20}}),
                         doctest::Contains("[heddle.R03] not all of the 2 processes came to the start of the plan within 20 ms"), Error);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MpiProcess::instance().finalize_at_the_end(true);  // the other comes after all
  if (ranks.rank() == 1) const MpiCommunicator late{ranks.get(), patience};
  MPI_Barrier(MPI_COMM_WORLD);
}
