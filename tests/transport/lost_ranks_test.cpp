// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <stdexcept>

#include "heddle/transport/lost_ranks.hpp"

using namespace heddle;

TEST_CASE("the first rank lost is named as the cause") {
  LostRanks lost{3};
  CHECK_FALSE(lost.any());
  lost.add(2, "it threw");
  lost.add(0, "it followed");
  CHECK((lost.contains(0) && !lost.contains(1) && lost.contains(2)));
  const RankLost error = lost.error("receive from rank 0", 7);
  CHECK(error.rank() == Rank{2});
  CHECK(error.operation() == "receive from rank 0");
  CHECK(error.sequence() == 7);
  CHECK(std::string{error.what()}.find("it threw") != std::string::npos);
}

TEST_CASE("who is late because of a lost rank is not lost") {
  LostRanks lost{3};
  lost.add_if_first(1, "late");
  lost.add_if_first(2, "late as well");
  CHECK((lost.contains(1) && !lost.contains(2)));
  lost.clear();
  CHECK((!lost.any() && !lost.contains(1)));
}

TEST_CASE("a rank that does not exist is never entered") {
  LostRanks lost{2};
  for (const int rank : {-1, 2}) CHECK_THROWS_AS(lost.add(rank, "late"), std::out_of_range);
  CHECK((!lost.any() && lost.cause() == -1));
}

TEST_CASE("what a rank waits for is a peer, or a group and a number, or nothing") {
  Awaited awaited;
  const auto is = [&](int peer, int group, std::int64_t sequence) {
    const Awaited::Wait wait = awaited.read();
    return wait.peer == peer && wait.group == group && wait.sequence == sequence;
  };
  CHECK(is(-1, -1, 0));
  awaited.set_peer(0);
  CHECK(is(0, -1, 0));
  awaited.set_collective(0, 0);
  CHECK(is(-1, 0, 0));
  awaited.set_collective(4'000'000, std::int64_t{1} << 39);
  CHECK(is(-1, 4'000'000, std::int64_t{1} << 39));
  awaited.clear();
  CHECK(is(-1, -1, 0));
}
