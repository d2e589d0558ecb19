// SPDX-License-Identifier: MIT
#include "heddle/run/turns.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a second call is refused while the first has its turn, and not afterwards") {
  CallTurns turns;
  {
    const auto first = turns.take("step()");
    CHECK_THROWS_WITH_AS((void)turns.take("evaluate()"),
                         "[heddle.R11] evaluate() was called while another call of the same trainer is under way, by an observer, a callback or a "
                         "second thread. Fix: call it after the other call has returned.",
                         Error);
    CHECK_THROWS_AS((void)turns.take("step()"), Error);  // a refusal ends nobody's turn
    CHECK_NOTHROW(turns.refuse_at_work("parameter()"));
  }
  CHECK_NOTHROW((void)turns.take("step()"));
}

TEST_CASE("nothing is read while ranks are at work") {
  CallTurns turns;
  {
    const auto work = turns.work();
    CHECK_THROWS_WITH_AS(turns.refuse_at_work("parameter()"), doctest::Contains("[heddle.R11] parameter() was called"), Error);
  }
  CHECK_NOTHROW(turns.refuse_at_work("parameter()"));
}
