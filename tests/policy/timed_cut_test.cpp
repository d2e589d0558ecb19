// SPDX-License-Identifier: MIT
#include "heddle/policy/timed_cut.hpp"

#include <doctest/doctest.h>

#include "policy/models.hpp"

using namespace heddle;
using namespace heddle::tests;
using policy_room::TimedCuts;

namespace {

struct Skips : Sequential<Linear<8, 8>, Residual<Linear<8, 8>, ReLU>, Linear<8, 8>> {};  // nodes 0, 1, 2, the sum 3, 4

}  // namespace

TEST_CASE("a layer that takes longer moves the cut to it") {
  CHECK(TimedCuts{graph_of<Chain>, {{1}, {1}, {1}, {1}, {1}}}.first_node(2) == std::vector<int>{0, 2, 5});
  CHECK(TimedCuts{graph_of<Chain>, {{1}, {1}, {1}, {1}, {9}}}.first_node(2) == std::vector<int>{0, 4, 5});
  CHECK(TimedCuts{graph_of<Chain>, {{9}, {1}, {1}, {1}, {1}}}.first_node(2) == std::vector<int>{0, 1, 5});
}

TEST_CASE("any number of stages is asked of one table, in any order") {
  TimedCuts cuts{graph_of<Chain>, {{3}, {1}, {1}, {3}, {3}}};
  CHECK(cuts.most() == 5);
  CHECK(cuts.first_node(5) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(cuts.first_node(1) == std::vector<int>{0, 5});
  CHECK(cuts.first_node(4) == std::vector<int>{0, 1, 3, 4, 5});
}

TEST_CASE("no cut goes through a skip connection, whatever the layers in it take") {
  TimedCuts cuts{graph_of<Skips>, {{1}, {50}, {50}, {1}, {1}}};
  CHECK(cuts.most() == 3);
  CHECK(cuts.first_node(3) == std::vector<int>{0, 1, 4, 5});
}
