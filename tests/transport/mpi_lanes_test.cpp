// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_lanes.hpp"

#include <doctest/doctest.h>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

TEST_CASE("a rank has a lane for each of its groups, with its place in it, and tags that no other group has") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  const int rank = comm.rank();
  const GroupsOfRanks groups{4, {{0, 1}, {3, 2}, {0, 1, 2, 3}}};
  MpiLanes lanes;
  CHECK(lanes.make(comm, groups, rank, {.transfers = 1, .reductions = 5, .elements = {100, 1000}}) == 10);
  const int pair = rank < 2 ? 0 : 1;
  CHECK((lanes.at(pair).group.number == pair && lanes.at(pair).group.members() == 2 && lanes.at(2).group.members() == 4));
  CHECK(lanes.at(2).group.position == rank);
  CHECK(lanes.at(pair).group.position == (rank < 2 ? rank : 3 - rank));
  CHECK(lanes.at(pair).group.first_tag == pair * 5 * MpiCollective::tags);
  CHECK((lanes.at(2).slot_of(4) == 4 && lanes.at(2).slot_of(5) == 0));
  CHECK(lanes.at(pair).group.scratch.size() == 2 * 64);  // a slice of 50 elements for each member, in whole lines
  CHECK(lanes.at(2).group.scratch.size() == 4 * 256);    // each group has what its own largest sum takes
  CHECK(lanes.scratch() == Bytes{4 * (2 * 64 + 4 * 256)});
  CHECK_THROWS_WITH_AS((void)MpiLanes{}.make(comm, groups, rank, {.transfers = 1, .reductions = 1'000'000'000}),
                       doctest::Contains("[heddle.T06] 3 groups with 1000000000 pending collectives each need more tags"), Error);
}
