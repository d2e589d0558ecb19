// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

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
