// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace heddle;

TEST_CASE("scratch is reused by what comes after, at the lowest place that fits") {
  ScratchSpace space;
  CHECK(space.take(128) == 0);
  CHECK(space.take(64) == 128);
  CHECK(space.take(64) == 192);
  space.release(128);
  CHECK(space.take(128) == 256);  // the hole of 64 is too small
  CHECK(space.take(64) == 128);
  space.release(0);
  CHECK(space.take(64) == 0);
  CHECK(space.peak == 384);
}

TEST_CASE("a body begins with empty scratch, whatever lived in the one before") {
  ScratchSpace space;
  space.take(128);
  space.take(64);
  space.clear();
  CHECK(space.peak == 0);
  CHECK(space.take(64) == 0);
  CHECK(space.take(64) == 64);
  space.release(0);
  CHECK(space.take(32) == 0);
  CHECK(space.peak == 128);
}

TEST_CASE("a single chain of values needs two at a time") {
  constexpr std::int64_t peak = [] {
    ScratchSpace space;
    std::int64_t last = space.take(64);
    for (int i = 0; i < 100; ++i) {
      const std::int64_t next = space.take(64);
      space.release(last);
      last = next;
    }
    return space.peak;
  }();
  static_assert(peak == 128);
  CHECK(peak == 128);
}

TEST_CASE("what is live never overlaps, and the peak is the highest end") {
  struct Live {
    std::int64_t at;
    std::int64_t bytes;
  };
  std::mt19937 random{7};
  for (int round = 0; round < 50; ++round) {
    ScratchSpace space;
    std::vector<Live> live;
    std::int64_t highest = 0;
    for (int i = 0; i < 100; ++i) {
      if (!live.empty() && (live.size() == ScratchSpace::most || random() % 2 == 0)) {
        const std::size_t gone = random() % live.size();
        space.release(live[gone].at);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
      } else {
        const std::int64_t bytes = 64 * (1 + static_cast<std::int64_t>(random() % 5));
        const std::int64_t at = space.take(bytes);
        for (const Live& other : live) CHECK((at + bytes <= other.at || other.at + other.bytes <= at));
        live.push_back({at, bytes});
        highest = std::max(highest, at + bytes);
      }
    }
    CHECK(space.peak == highest);
  }
}
