// SPDX-License-Identifier: MIT
#include "heddle/run/reports.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace heddle;

TEST_CASE("every step is due unless something else was said, with a callback and without") {
  Reports reports;
  CHECK((reports.due(1) && reports.due(2)));
  reports.set({}, Every{3});
  CHECK((!reports.due(1) && !reports.due(2) && reports.due(3)));
  reports.set([](const StepResult&) {}, Every{});
  CHECK(reports.due(1));
  reports.set({}, Every::never());
  CHECK_FALSE(reports.due(1'000'000'000'000));
}

TEST_CASE("a step that has begun knows why it may have no loss, norm or scale") {
  Reports reports;
  reports.set({}, Every{2});
  const StepResult plain = reports.begun(5, false, false), both = reports.begun(5, true, true);
  CHECK((plain.step == 5 && plain.rows == 0 && !plain.skipped));
  CHECK_THROWS_WITH_AS((void)*plain.loss, doctest::Contains("the loss of step 5 was not reduced: the trainer was told to report every 2 steps"),
                       Error);
  CHECK_THROWS_WITH_AS((void)*plain.norm, doctest::Contains("the plan does not clip, so step 5 has no norm"), Error);
  CHECK_THROWS_WITH_AS((void)*plain.scale, doctest::Contains("the plan does not scale its loss, so step 5 has no scale"), Error);
  CHECK_THROWS_WITH_AS((void)*both.norm, doctest::Contains("step 5 was skipped"), Error);
}

TEST_CASE("a report every 0 steps is refused, and what was said before holds") {
  Reports reports;
  reports.set({}, Every{2});
  for (const std::int64_t steps : {0, -3}) CHECK_THROWS_WITH_AS(reports.set({}, Every{steps}), doctest::Contains("[heddle.O01]"), Error);
  CHECK((!reports.due(1) && reports.due(2)));
}

TEST_CASE("a callback that replaces or removes itself runs to its end") {
  Reports reports;
  std::string said;
  const std::string words(100, 'x');  // longer than a std::function keeps in itself
  reports.set(
      [&, words](const StepResult& result) {
        reports.set([&said](const StepResult& next) { said += "then " + std::to_string(next.step); }, Every{});
        said += words.substr(0, 2) + std::to_string(result.step) + ' ';
      },
      Every{});
  reports.tell({1});
  reports.tell({2});
  CHECK(said == "xx1 then 2");
  reports.set(
      [&](const StepResult&) {
        reports.set({}, Every{});
        said += words.back();
      },
      Every{});
  reports.tell({3});
  reports.tell({4});
  CHECK(said == "xx1 then 2x");
}
