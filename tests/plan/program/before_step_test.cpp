// SPDX-License-Identifier: MIT
#include "heddle/plan/program/before_step.hpp"

#include <doctest/doctest.h>

using namespace heddle::plan_room;

TEST_CASE("facts lie one behind the other: squares of each unit, the flag of an overflow, the flag of the loss") {
  constexpr BeforeStep all{.clips = true, .scales_loss = true, .guards = true};
  static_assert(all.place(Fact::squares, 3) == 0 && all.place(Fact::overflow, 3) == 3 && all.place(Fact::loss, 3) == 4 && all.floats(3) == 5);
  constexpr BeforeStep clips_and_guards{.clips = true, .guards = true};
  static_assert(clips_and_guards.place(Fact::loss, 3) == 3 && clips_and_guards.floats(3) == 4);
  static_assert(clips_and_guards.floats(Fact::overflow, 3) == 0 && clips_and_guards.floats(Fact::squares, 3) == 3);
  static_assert(BeforeStep{.guards = true}.place(Fact::loss, 3) == 0 && BeforeStep{.guards = true}.floats(3) == 1);
  CHECK(BeforeStep{}.floats(3) == 0);
}

TEST_CASE("each option asks for its own fact, flags say whether ranks step, and any of the facts is known before the first step") {
  for (int f = 0; f < fact_count; ++f) {
    BeforeStep asked;
    asked.*BeforeStep::row(static_cast<Fact>(f)).asked = true;
    for (int other = 0; other < fact_count; ++other) CHECK(asked.has(static_cast<Fact>(other)) == (other == f));
    CHECK(asked.any());
    CHECK(asked.may_skip() == !asked.clips);
  }
  CHECK_FALSE(BeforeStep{}.any());
  CHECK_FALSE(BeforeStep{}.may_skip());
}

TEST_CASE("squares alone are one float a unit, and the loss alone differs with the rows of a rank") {
  CHECK(BeforeStep::row(Fact::squares).of_each_unit);
  CHECK_FALSE(BeforeStep::row(Fact::overflow).of_each_unit);
  CHECK_FALSE(BeforeStep::row(Fact::overflow).of_loss);
  CHECK(BeforeStep::row(Fact::loss).of_loss);
}
