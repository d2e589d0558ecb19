// SPDX-License-Identifier: MIT
#include "heddle/policy/schedule/gpipe.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("GPipe runs all forwards first and so keeps every micro-batch in flight on every chunk") {
  static_assert(GPipe::rules().name.view() == "GPipe");
  static_assert(GPipe::rules().named && GPipe::rules().forwards_first && GPipe::rules().in_sequence);
  for (int chunks = 1; chunks <= 8; ++chunks)
    for (int c = 0; c < chunks; ++c)
      for (int m = 1; m <= 32; ++m) CHECK(GPipe::in_flight(c, chunks, m) == m);
}
