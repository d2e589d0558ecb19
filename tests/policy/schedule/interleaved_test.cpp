// SPDX-License-Identifier: MIT
#include "heddle/policy/schedule/interleaved.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/schedule/one_f_one_b.hpp"

using namespace heddle;

TEST_CASE("interleaved stages take their turns, in the order of micro-batches on each chunk") {
  static_assert(Interleaved<2>::rules().name.view() == "Interleaved");
  static_assert(Interleaved<2>::rules().named && Interleaved<2>::rules().in_turns && Interleaved<2>::rules().in_sequence);
  static_assert(!Interleaved<2>::rules().forwards_first && !Interleaved<2>::rules().splits_backward);
  CHECK(Interleaved<3>::chunks_per_device == 3);
}

TEST_CASE("a device keeps 2(p-1-r) + (v-1)p + 1 chunk passes in flight: more chunks, and two more for each device behind it") {
  static_assert(Interleaved<2>::turns(0, 4).in_flight == 11);
  static_assert(Interleaved<2>::turns(3, 4).in_flight == 5);
  for (int p = 1; p <= 8; ++p) {
    CHECK(Interleaved<4>::turns(p - 1, p).in_flight == 3 * p + 1);
    for (int r = 0; r + 1 < p; ++r) {
      CHECK(Interleaved<3>::turns(r, p).in_flight - Interleaved<3>::turns(r + 1, p).in_flight == 2);
      CHECK(Interleaved<3>::turns(r, p).in_flight - Interleaved<2>::turns(r, p).in_flight == p);
      CHECK(Interleaved<3>::turns(r, p).delayed == 0);
    }
  }
}
