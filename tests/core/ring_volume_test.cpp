// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <initializer_list>

#include "heddle/core/ring_volume.hpp"

using namespace heddle;

TEST_CASE("all positions together send 2 (n-1) times the data") {
  for (int members = 1; members <= 9; ++members)
    for (const std::int64_t elements : {0, 1, 15, 16, 17, 100, 1000, 39760}) {
      CAPTURE(members);
      CAPTURE(elements);
      Bytes total;
      std::int64_t owned = 0;
      for (int q = 0; q < members; ++q) {
        total += ring_bytes_sent(elements, members, q);
        owned += ring_elements_owned(elements, members, q);
      }
      CHECK(total == Bytes{2 * (members - 1) * elements * 4});
      CHECK(owned == elements);
    }
}

TEST_CASE("positions own whole lines, the last one clipped") {
  static_assert(ring_first_owned(40, 2, 1) == 16);  // 3 lines: 1 and 2
  static_assert(ring_elements_owned(40, 2, 1) == 24);
  static_assert(ring_elements_owned(5, 4, 3) == 5);  // 1 line: it belongs to the last position
  static_assert(ring_elements_owned(5, 4, 0) == 0);
}

TEST_CASE("a group of one sends nothing, and even parts send the ring's share") {
  static_assert(ring_bytes_sent(1000, 1, 0) == Bytes{0});
  static_assert(ring_messages_sent(1) == 0);
  static_assert(ring_messages_sent(4) == 6);
  static_assert(ring_bytes_sent(4096, 4, 2) == Bytes{2 * 3 * 4 * 4096 / 4});
}

TEST_CASE("a reduce-scatter and an all-gather of even slices send what an all-reduce of them sends") {
  for (int members = 1; members <= 9; ++members)
    for (const std::int64_t lines : {0, 1, 7, 100}) {
      const std::int64_t elements = lines * members * elements_per_line;
      for (int q = 0; q < members; ++q) CHECK(half_ring_bytes_sent(elements, members) * 2 == ring_bytes_sent(elements, members, q));
      CHECK(half_ring_messages_sent(members) * 2 == ring_messages_sent(members));
    }
  static_assert(half_ring_bytes_sent(99, 3) == Bytes{4 * 66});
}
