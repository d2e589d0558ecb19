// SPDX-License-Identifier: MIT
#include "heddle/transport/thread_board.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("who is late because of another is not to blame") {
  ThreadBoard board{4, {{0, 1, 2, 3}}, {}};
  CHECK(board.culprit(1) == 1);
  board.awaited(1).set_peer(2);
  CHECK(board.culprit(1) == 2);
  board.awaited(2).set_collective(0, 0);  // which rank 0 has started and rank 1 has not
  float data = 0;
  board.ring(0).post(0, 0, {Movement::all_reduce, 1}, &data, &data);
  CHECK(board.first_missing(0, 0) == 1);
  CHECK(board.culprit(1) == 1);  // 1 waits for 2, which waits for 1: the one that was asked for
  board.ring(0).post(0, 1, {Movement::all_reduce, 1}, &data, &data);
  CHECK(board.first_missing(0, 0) == 2);
}

TEST_CASE("what a rank has started alone ends when it withdraws") {
  ThreadBoard board{2, {{0, 1}}, {}};
  float data = 0;
  board.pair(0, 1).post_send(0, &data, 1);
  board.pair(1, 0).post_receive(0, &data, 1);
  board.ring(0).post(0, 0, {Movement::all_gather, 2}, &data, &data);
  CHECK_FALSE(board.misses_a_lost_rank(0, 0));
  board.lost().add(1, "it threw");
  CHECK(board.misses_a_lost_rank(0, 0));
  board.withdraw(0);
  CHECK((board.pair(0, 1).dead(0) && board.pair(1, 0).dead(0) && board.ring(0).dead(0)));
  board.reset();
  CHECK((!board.pair(0, 1).dead(0) && !board.ring(0).dead(0) && !board.lost().any()));
}
