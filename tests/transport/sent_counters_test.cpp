// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/sent_counters.hpp"

using namespace heddle;

TEST_CASE("sends and reductions are counted apart, by the convention of the ledger") {
  SentCounters traffic;
  traffic.count_send(10);
  traffic.count_send(0);
  traffic.count_collective(Movement::all_reduce, 100, 3, 1);
  CHECK(traffic.sent(Movement::point_to_point) == Sent{2, Bytes{40}});
  CHECK(traffic.sent(Movement::all_reduce) == Sent{4, ring_bytes_sent(100, 3, 1)});
  traffic.count_collective(Movement::reduce_scatter, 99, 3, 1);
  traffic.count_collective(Movement::all_gather, 30, 3, 0);
  CHECK(traffic.sent(Movement::reduce_scatter) == Sent{2, Bytes{4 * 66}});
  CHECK(traffic.sent(Movement::all_gather) == Sent{2, Bytes{4 * 20}});
  traffic.clear();
  CHECK(traffic.sent(Movement::point_to_point) == Sent{});
  CHECK(traffic.sent(Movement::all_reduce) == Sent{});
}
