// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/groups.hpp"

using namespace heddle;

TEST_CASE("positions follow the order of the list") {
  const GroupsOfRanks groups{4, {{2, 0, 3}, {1}}};
  CHECK(groups.count() == 2);
  CHECK(groups.members(0) == 3);
  CHECK(groups.position(0, 2) == 0);
  CHECK(groups.position(0, 3) == 2);
  CHECK(groups.position(0, 1) == -1);
  CHECK(groups.rank_at(0, 1) == 0);
  CHECK(groups.position(1, 1) == 0);
}

TEST_CASE("groups and ranks that cannot be are refused") {
  CHECK_THROWS_WITH_AS((GroupsOfRanks{2, {{0, 2}}}), doctest::Contains("[heddle.T04] group 0 names rank 2"), Error);
  CHECK_THROWS_AS((GroupsOfRanks{2, {{-1}}}), Error);
  CHECK_THROWS_AS((GroupsOfRanks{2, {{0, 1}, {1, 1}}}), Error);
  CHECK_THROWS_AS((GroupsOfRanks{0, {}}), Error);
}

TEST_CASE("peers, groups and counts are checked before anything moves") {
  const GroupsOfRanks groups{2, {{0}}};
  CHECK_NOTHROW(groups.check_transfer(0, 1, 0));
  CHECK_NOTHROW(groups.check_collective(0, 0, 5));
  CHECK_THROWS_WITH_AS(groups.check_transfer(1, 1, 3), doctest::Contains("[heddle.T04]"), Error);
  CHECK_THROWS_AS(groups.check_transfer(0, 2, 3), Error);
  CHECK_THROWS_WITH_AS(groups.check_transfer(0, 1, -3), doctest::Contains("[heddle.T05] rank 0 moves -3 elements"), Error);
  CHECK_THROWS_WITH_AS(groups.check_collective(1, 0, 3), doctest::Contains("rank 1 is no member of group 0"), Error);
  CHECK_THROWS_AS(groups.check_collective(0, 1, 3), Error);
  const GroupsOfRanks three{3, {{0, 1, 2}}};
  CHECK_NOTHROW(three.check_slices(1, 0, 6));
  CHECK_THROWS_WITH_AS(three.check_slices(1, 0, 7),
                       doctest::Contains("[heddle.T05] rank 1 divides 7 elements into slices for the 3 members of group 0"), Error);
  CHECK_THROWS_AS(three.check_slices(1, 0, -3), Error);
}
