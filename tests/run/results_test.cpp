// SPDX-License-Identifier: MIT
#include "heddle/run/results.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace heddle;

TEST_CASE("a loss that was not reduced says so where it is read, with the remedy") {
  StepResult result{7, 16, ReadWithAStar{"loss", Lacks::report, 7, Every{100}}};
  CHECK_FALSE(result.loss.has_value());
  CHECK_FALSE(static_cast<bool>(result.loss));
  CHECK(result.loss.value_or(-1) == -1);
  const char* const words =
      "[heddle.R12] the loss of step 7 was not reduced: the trainer was told to report every 100 steps. "
      "Fix: read it where loss.has_value(), or report every step with Every{1}.";
  CHECK_THROWS_WITH_AS((void)*result.loss, words, Error);
  CHECK_THROWS_WITH_AS((void)result.loss.value(), words, Error);
  result.loss = ReadWithAStar{"loss", Lacks::report, 7, Every::never()};
  CHECK_THROWS_WITH_AS((void)*result.loss, doctest::Contains("was told to report never"), Error);
  result.loss = 0.5F;
  CHECK((result.loss && result.loss.has_value() && *result.loss == 0.5F && result.loss.value() == 0.5F && result.loss.value_or(-1) == 0.5F));
}

TEST_CASE("no step, no loss") {
  const StepResult result;
  CHECK(result.rows == 0);
  CHECK_THROWS_WITH_AS((void)*result.loss, doctest::Contains("[heddle.R12] no step was made"), Error);
  CHECK_THROWS_WITH_AS((void)*result.norm, doctest::Contains("so there is no norm. Fix: read it where rows is above 0."), Error);
  CHECK_THROWS_WITH_AS((void)*result.scale, doctest::Contains("so there is no scale."), Error);
}

TEST_CASE("a norm or a scale that a step does not have says why, and what gives it") {
  CHECK_THROWS_WITH_AS((void)ReadWithAStar("norm", Lacks::clip, 3).value(),
                       "[heddle.R12] the plan does not clip, so step 3 has no norm. Fix: add Clip<GlobalNorm> to the plan.", Error);
  CHECK_THROWS_WITH_AS((void)ReadWithAStar("scale", Lacks::scaling, 3).value(),
                       "[heddle.R12] the plan does not scale its loss, so step 3 has no scale. Fix: add LossScaling to the plan.", Error);
  CHECK_THROWS_WITH_AS((void)ReadWithAStar("norm", Lacks::update, 3).value(),
                       "[heddle.R12] step 3 was skipped, because a gradient overflowed under the loss scale, so it has no norm. "
                       "Fix: read it where skipped is false.",
                       Error);
}

static_assert(!std::is_trivially_copyable_v<ReadWithAStar>);  // clang passes no such class through an ellipsis, g++ has an overload of printf

TEST_CASE("reports come with every step and no wait is endless unless something else is said") {
  CHECK(Every{}.steps == 1);
  CHECK(RunOptions{}.deadline > std::chrono::seconds{0});
  CHECK(RunOptions{}.deadline <= std::chrono::minutes{5});
}

TEST_CASE("what a plan clips to is above 0 as a float, in which it clips") {
  for (const double none : {0.0, -1.0, 1e-46, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(none);
    CHECK_THROWS_AS((ClipOptions{none}.check()), Error);
    CHECK_THROWS_AS((ValueClipOptions{none}.check()), Error);
  }
  ClipOptions{1e-30}.check();
  ValueClipOptions{std::numeric_limits<double>::infinity()}.check();
}
