// SPDX-License-Identifier: MIT
// Why the rendezvous check leaves out reductions: with them, each rank by itself, lists have the verdict that they have without.
#include <doctest/doctest.h>

#include "oracle/schedules.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Two ranks for each list, rank 2 r + c beside the ranks of its own c, which sum values with each other at random places of the list.
RoleLists two_ranks_each(const RoleLists& lists, Random& random) {
  RoleLists ranks;
  for (const auto& list : lists) {
    std::vector<Event> mine;
    std::vector<int> moved;  // by position in the list
    for (const Event& e : list) {
      if (below(random, 3) == 0) mine.push_back(Event{EventKind::reduce_wait, -1, -1, 0});
      moved.push_back(static_cast<int>(mine.size()));
      mine.push_back(e);
    }
    for (Event& e : mine)
      if (e.start >= 0) e.start = moved[static_cast<std::size_t>(e.start)];
    for (int c = 0; c < 2; ++c) {
      ranks.push_back(mine);
      for (Event& e : ranks.back())
        if (e.peer >= 0) e.peer = 2 * e.peer + c;
    }
  }
  return ranks;
}

}  // namespace

TEST_CASE("reductions among ranks that run one list change no verdict, under any lanes") {
  Random random{2104};
  for (const Lanes lanes : {Lanes::free, Lanes::per_communicator, Lanes::one_per_device}) {
    int stuck = 0;
    int disagreements = 0;
    for (int n = 0; n < 3000; ++n) {
      RoleLists lists = random_lists(random);
      if (n % 3 == 2) corrupt(lists, all_slips[static_cast<std::size_t>(n / 3 % 6)], random);
      const int said = verdict(lists, lanes);
      stuck += said == 3 ? 1 : 0;
      const RoleLists ranks = two_ranks_each(lists, random);
      Chance chance{ranks, lanes};
      for (int timing = 0; timing < 2; ++timing) disagreements += chance.run(random) == said ? 0 : 1;
    }
    CHECK(disagreements == 0);
    CHECK(stuck > 100);
  }
}
