// SPDX-License-Identifier: MIT
#include "heddle/transport/pause_between_looks.hpp"

#include <doctest/doctest.h>

using namespace heddle;
using namespace std::chrono_literals;

TEST_CASE("who waits looks without a sleep for 2 ms, then sleeps for a thousandth of its wait, at least 20 us and at most 1 ms") {
  static_assert(sleep_after(0ns) == 0ns && sleep_after(1999us) == 0ns);
  static_assert(sleep_after(2ms) == 20us && sleep_after(20ms) == 20us);
  static_assert(sleep_after(50ms) == 50us && sleep_after(1s) == 1ms && sleep_after(24h) == 1ms);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) pause_between_looks(24h);
  CHECK(std::chrono::steady_clock::now() - begun >= 10ms);
}
