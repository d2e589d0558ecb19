// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_collective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

namespace {

struct Member {
  FirstRanks ranks;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiGroup group;
  SentCounters traffic;
  explicit Member(int members) : ranks(members) {
    group.comm = comm.get();
    group.ranks.resize(static_cast<std::size_t>(members));
    std::iota(group.ranks.rbegin(), group.ranks.rend(), 0);  // positions are not ranks
    group.position = members - 1 - comm.rank();
  }
};

void complete(MpiCollective& collective) {
  while (!collective.advance()) std::this_thread::yield();
}

std::vector<int> missing(MpiCollective& collective) {
  std::vector<int> ranks;
  collective.each_missing([&](int rank) { ranks.push_back(rank); });
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

TEST_CASE("scratch has room for the slice of every member, whatever the length") {
  for (int members = 2; members <= 9; ++members) {
    MpiGroup group;
    group.ranks.resize(static_cast<std::size_t>(members));
    for (std::int64_t elements = 0; elements < 700; ++elements)
      for (int q = 0; q < members; ++q) REQUIRE(ring_elements_owned(elements, members, q) <= group.slice_room(elements));
    group.reserve(700);
    CHECK(std::ssize(group.scratch) >= 700);
  }
}

TEST_CASE("collectives of one group are summed in their order, however they are driven, and what is sent is counted") {
  Member me{4};
  std::vector<float> first(1000, 1.0F), second(1000, 2.0F), slice(250);
  MpiCollective a{4}, b{4};
  a.start(me.group, 0, 0, {}, {Movement::all_reduce, 1000}, first.data(), first.data(), me.traffic);
  b.start(me.group, 1, 1, {}, {Movement::reduce_scatter, 1000}, second.data(), slice.data(), me.traffic);
  CHECK_FALSE((b.advance() && me.group.turn == 0));
  while (!(a.advance() && b.advance())) {
    b.advance();
    std::this_thread::yield();
  }
  CHECK(first == std::vector<float>(1000, 4.0F));
  CHECK(slice == std::vector<float>(250, 8.0F));
  CHECK(second == std::vector<float>(1000, 2.0F));
  CHECK(me.group.turn == 2);
  CHECK(me.traffic.sent(Movement::all_reduce) == Sent{6, ring_bytes_sent(1000, 4, me.group.position)});
  CHECK(me.traffic.sent(Movement::reduce_scatter) == Sent{3, half_ring_bytes_sent(1000, 4)});
  CHECK(a.describe() == "all-reduce of group 0");
}

TEST_CASE("a member that started something else is named by everybody, and the next collective is not disturbed") {
  Member me{4};
  std::vector<float> data(800, 1.0F);
  MpiCollective odd{4}, next{4};
  const bool other = me.comm.rank() == 1;
  odd.start(me.group, 0, 0, {}, {other ? Movement::all_gather : Movement::all_reduce, other ? 400 : 800}, data.data(), data.data(), me.traffic);
  complete(odd);
  // Position 0 is rank 3.
  CHECK_THROWS_WITH_AS(odd.check_counts(),
                       doctest::Contains("[heddle.T01] rank 3 starts all-reduce of 800 elements, rank 1 starts all-gather of 400"), Error);
  CHECK(data == std::vector<float>(800, 1.0F));
  next.start(me.group, 1, 1, {}, {Movement::all_reduce, 800}, data.data(), data.data(), me.traffic);
  complete(next);
  CHECK_NOTHROW(next.check_counts());
  CHECK(data == std::vector<float>(800, 4.0F));
}

TEST_CASE("a member that has not started is the one that is missing") {
  Member me{4};
  float data = 1;
  MpiCollective collective{4};
  if (me.comm.rank() != 2) {
    collective.start(me.group, 0, 0, {}, {Movement::all_reduce, 1}, &data, &data, me.traffic);
    while (missing(collective) != std::vector<int>{2}) collective.advance();
    CHECK((collective.needs(2) && !collective.needs(me.comm.rank()) && !collective.moves()));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me.comm.rank() == 2) collective.start(me.group, 0, 0, {}, {Movement::all_reduce, 1}, &data, &data, me.traffic);
  complete(collective);
  CHECK((data == 4.0F && collective.moves()));
}

TEST_CASE("a member that has started and goes no further is the one that is missing, and no other") {
  Member me{4};
  std::vector<float> data(1000, 1.0F);
  MpiCollective collective{4};
  collective.start(me.group, 0, 0, {}, {Movement::all_reduce, 1000}, data.data(), data.data(), me.traffic);
  if (me.comm.rank() != 2)
    while (missing(collective) != std::vector<int>{2}) collective.advance();
  // Who has seen it goes on: others may need what it has yet to send.
  MPI_Request all_have_seen_it = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_have_seen_it);
  for (int reached = 0; reached == 0; MPI_Test(&all_have_seen_it, &reached, MPI_STATUS_IGNORE))
    if (me.comm.rank() != 2) collective.advance();
  complete(collective);
  CHECK(data == std::vector<float>(1000, 4.0F));
}

TEST_CASE("members that are in different calls are told so, and nothing is moved") {
  Member me{4};
  std::vector<float> data(1000, 1.0F);
  MpiCollective collective{4};
  const CallPledge call{.rows = 16, .number = me.comm.rank() == 1 ? 6 : 5, .call = CallPledge::step};
  collective.start(me.group, 0, 0, call, {Movement::all_reduce, 1000}, data.data(), data.data(), me.traffic);
  complete(collective);
  CHECK_THROWS_WITH_AS(collective.check_counts(), doctest::Contains("[heddle.T10] rank 3 makes step 5, rank 1 makes step 6. Fix: "), Error);
  CHECK(data == std::vector<float>(1000, 1.0F));
}
