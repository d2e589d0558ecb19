// SPDX-License-Identifier: MIT
#include "heddle/run/results.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a step that was not reported has no loss, so none can be read by accident") {
  const StepResult result;
  CHECK_FALSE(result.loss.has_value());
  CHECK(result.rows == 0);
}

TEST_CASE("reports come with every step and no wait is endless unless something else is said") {
  CHECK(Every{}.steps == 1);
  CHECK(RunOptions{}.deadline > std::chrono::seconds{0});
  CHECK(RunOptions{}.deadline <= std::chrono::minutes{5});
}
