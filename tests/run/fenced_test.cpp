// SPDX-License-Identifier: MIT
#include "heddle/run/fenced.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace heddle;

TEST_CASE("a fence tells what was written beside the numbers, on either side and at its last place") {
  const std::vector<float> values{1, 2, 3};
  for (const std::int64_t fence : {1, 16, 17}) {
    CAPTURE(fence);
    Fenced sound{values.data(), 3, fence, Fenced::For::writing};
    CHECK((sound.data()[0] == 1 && sound.data()[2] == 3));
    CHECK((sound.data()[-1] == sound.data()[3] && !std::isnan(sound.data()[3])));
    sound.data()[1] = 5;
    CHECK(sound.stands());
    std::vector<float> back(3);
    sound.copy_to(back.data());
    CHECK(back == std::vector<float>{1, 5, 3});
    for (const std::int64_t place : {std::int64_t{-1}, std::int64_t{3}, -fence, 2 + fence}) {
      CAPTURE(place);
      Fenced broken{values.data(), 3, fence, Fenced::For::writing};
      broken.data()[place] = 0;
      CHECK_FALSE(broken.stands());
    }
  }
}

TEST_CASE("what is read beside numbers is NaN, and as such no part of a fence of numbers to be written") {
  const std::vector<float> values{1, 2, 3};
  Fenced read{values.data(), 3, 16, Fenced::For::reading}, written{nullptr, 3, 16, Fenced::For::writing}, none{nullptr, 0, 4, Fenced::For::reading};
  CHECK((std::isnan(read.data()[-1]) && std::isnan(read.data()[3])));
  CHECK((read.stands() && written.stands() && none.stands()));
  for (int i = 0; i < 4; ++i) written.data()[i] = 2 * read.data()[i];
  CHECK_FALSE(written.stands());
}
