// SPDX-License-Identifier: MIT
#include "heddle/transport/thread_waits.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a transfer is awaited from its peer, and counts that differ name both sides") {
  ThreadBoard board{2, {}, {}};
  float data[2] = {};
  const PairWait send{board, 0, 1, PairRing::send, 0}, receive{board, 1, 0, PairRing::receive, 0};
  CHECK((send.awaited() == 1 && receive.awaited() == 0));
  CHECK((send.describe() == "send to rank 1" && receive.describe() == "receive from rank 0"));
  board.pair(0, 1).post_send(0, data, 1);
  CHECK_FALSE((send.done() || send.hopeless()));
  board.pair(0, 1).post_receive(0, data, 2);
  CHECK(receive.done());
  CHECK_THROWS_WITH_AS(send.check_counts(), doctest::Contains("rank 0 sends 1 elements, rank 1 receives 2"), Error);
  CHECK_THROWS_WITH_AS(receive.check_counts(), doctest::Contains("rank 0 sends 1 elements, rank 1 receives 2"), Error);
}

TEST_CASE("a collective is awaited from the first member that has not started it, and is named by its kind") {
  ThreadBoard board{3, {{0, 1, 2}}, {}};
  float data[3] = {1, 2, 3};
  const GroupWait wait{board, 0, Movement::reduce_scatter, 0};
  CHECK(wait.describe() == "reduce-scatter of group 0");
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(wait.awaited() == rank);
    CHECK_FALSE(wait.done());
    board.ring(0).post(0, rank, {Movement::all_reduce, rank < 2 ? 1 : 0}, &data[rank], &data[rank]);
  }
  CHECK(wait.done());
  CHECK_THROWS_WITH_AS(wait.check_counts(), doctest::Contains("rank 0 starts all-reduce of 1 elements, rank 2 starts all-reduce of 0"), Error);
}

TEST_CASE("a wait that needs a lost rank is hopeless and can be ended") {
  ThreadBoard board{2, {{0, 1}}, {}};
  float data = 1;
  const GroupWait group{board, 0, Movement::all_gather, 0};
  const PairWait pair{board, 0, 1, PairRing::receive, 0};
  board.ring(0).post(0, 0, {Movement::all_gather, 2}, &data, &data);
  board.pair(1, 0).post_receive(0, &data, 1);
  CHECK_FALSE((group.hopeless() || pair.hopeless()));
  board.lost().add(1, "it threw");
  CHECK((group.hopeless() && pair.hopeless()));
  CHECK((group.kill() && pair.kill()));
}
