// SPDX-License-Identifier: MIT
#include "heddle/cost/estimate.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("the bubble is the share of all devices' time that is idle; of a step without time there is none") {
  Estimate estimate;
  CHECK(estimate.bubble() == 0);
  CHECK(estimate.fault.ok());
  estimate.step.value = 4;
  estimate.busy = {Seconds{4}, Seconds{1}};
  estimate.idle = {Seconds{0}, Seconds{3}};
  CHECK(estimate.bubble() == 3.0 / 8);
}
