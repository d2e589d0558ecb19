// SPDX-License-Identifier: MIT
#include "heddle/policy/schedule/one_f_one_b.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("1F1B runs a backward as soon as it can, in the order of micro-batches") {
  static_assert(OneFOneB::rules().name.view() == "1F1B");
  static_assert(OneFOneB::rules().named && !OneFOneB::rules().forwards_first && OneFOneB::rules().in_sequence);
  CHECK(OneFOneB::rules().name.view() == "1F1B");
}

TEST_CASE("chunk c of p keeps at most p - c micro-batches in flight, never more than there are") {
  static_assert(OneFOneB::in_flight(0, 4, 8) == 4);
  static_assert(OneFOneB::in_flight(3, 4, 8) == 1);
  static_assert(OneFOneB::in_flight(0, 4, 2) == 2);
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 32; ++m)
      for (int c = 0; c < p; ++c) {
        CHECK(OneFOneB::in_flight(c, p, m) <= m);
        CHECK(OneFOneB::in_flight(c, p, m) == (m < p - c ? m : p - c));
      }
}
