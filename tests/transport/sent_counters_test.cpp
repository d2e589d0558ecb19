// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/sent_counters.hpp"

using namespace heddle;

TEST_CASE("sends and the reductions of each group are counted apart, by the convention of the ledger") {
  SentCounters traffic{2};
  traffic.count_send(10);
  traffic.count_send(0);
  traffic.count_collective(0, Movement::all_reduce, 100, 3, 1);
  CHECK(traffic.sent(Movement::point_to_point) == Sent{2, Bytes{40}});
  CHECK(traffic.sent(Movement::all_reduce) == Sent{4, ring_bytes_sent(100, 3, 1)});
  traffic.count_collective(1, Movement::reduce_scatter, 99, 3, 1);
  traffic.count_collective(1, Movement::all_gather, 30, 3, 0);
  CHECK(traffic.sent(Movement::reduce_scatter) == Sent{2, Bytes{4 * 66}});
  CHECK(traffic.sent(Movement::all_gather) == Sent{2, Bytes{4 * 20}});
  traffic.count_message(1, Movement::all_reduce, 5);
  CHECK(traffic.sent(Movement::all_reduce, 0) == Sent{4, ring_bytes_sent(100, 3, 1)});
  CHECK(traffic.sent(Movement::all_reduce, 1) == Sent{1, Bytes{20}});
  CHECK(traffic.sent(Movement::all_reduce).messages == 5);
  CHECK(traffic.sent(Movement::all_gather, 0) == Sent{});
  traffic.clear();
  CHECK(traffic.sent(Movement::point_to_point) == Sent{});
  CHECK(traffic.sent(Movement::all_reduce) == Sent{});
}
