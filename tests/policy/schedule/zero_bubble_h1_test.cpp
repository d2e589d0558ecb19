// SPDX-License-Identifier: MIT
#include "heddle/policy/schedule/zero_bubble_h1.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/schedule/one_f_one_b.hpp"

using namespace heddle;

TEST_CASE("ZB-H1 splits the backward, takes turns and keeps the order of micro-batches") {
  static_assert(ZeroBubbleH1::rules().name.view() == "ZeroBubbleH1");
  static_assert(ZeroBubbleH1::rules().named && ZeroBubbleH1::rules().in_turns && ZeroBubbleH1::rules().in_sequence);
  static_assert(ZeroBubbleH1::rules().splits_backward && !ZeroBubbleH1::rules().forwards_first);
  CHECK(ZeroBubbleH1::chunks_per_device == 1);
}

TEST_CASE("between forward and gradient of the input as many as 1F1B keeps; later devices delay their weight parts more, p in all") {
  for (int p = 1; p <= 8; ++p)
    for (int r = 0; r < p; ++r) {
      CHECK(ZeroBubbleH1::turns(r, p).in_flight == OneFOneB::in_flight(r, p, 32));
      CHECK(ZeroBubbleH1::turns(r, p).in_flight + ZeroBubbleH1::turns(r, p).delayed == p);
    }
}
