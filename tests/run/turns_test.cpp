// SPDX-License-Identifier: MIT
#include "heddle/run/turns.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using namespace heddle;

namespace {

/// What a call says in a second thread.
template <class Call> std::string elsewhere(Call call) {
  std::string said = "nothing";
  std::thread second{[&] {
    try {
      call();
    } catch (const Error& error) {
      said = error.what();
    }
  }};
  second.join();
  return said;
}

}  // namespace

TEST_CASE("a second call is refused while the first has its turn, and not afterwards") {
  CallTurns turns;
  {
    const auto first = turns.take("step()");
    CHECK_THROWS_WITH_AS((void)turns.take("evaluate()"),
                         "[heddle.R11] evaluate() was called while another call of the same trainer is under way, by an observer, a callback or a "
                         "second thread. Fix: call it after the other call has returned.",
                         Error);
    CHECK_THROWS_AS((void)turns.take("step()"), Error);  // a refusal ends nobody's turn
    CHECK_FALSE(turns.read("parameter()"));              // under the thread's own call
    CHECK_FALSE(turns.read("on_step()", true));
    CHECK_THROWS_AS((void)turns.take("step()"), Error);  // nor does a reading
    CHECK(elsewhere([&] { (void)turns.read("parameter()"); }).find("[heddle.R11] parameter() was called") == 0);
    CHECK(elsewhere([&] { (void)turns.read("on_step()", true); }).find("[heddle.R11] on_step() was called") == 0);
  }
  CHECK_NOTHROW((void)turns.take("step()"));
  CHECK(elsewhere([&] { (void)turns.take("step()"); }) == "nothing");
}

TEST_CASE("many read at once, and no call begins before the last of them is through; one that reads alone reads alone") {
  CallTurns turns;
  auto first = turns.read("save()");
  auto second = turns.read("save()");
  CHECK(elsewhere([&] { (void)turns.read("save()"); }) == "nothing");
  for (auto* each : {&first, &second}) {
    CHECK_THROWS_AS((void)turns.take("step()"), Error);
    CHECK_THROWS_AS((void)turns.read("on_step()", true), Error);
    CHECK(elsewhere([&] { (void)turns.take("step()"); }).find("[heddle.R11] step() was called") == 0);
    each->reset();
  }
  {
    const auto alone = turns.read("on_step()", true);
    CHECK_FALSE(turns.read("parameter()", true));
    CHECK_THROWS_AS((void)turns.take("step()"), Error);
    CHECK(elsewhere([&] { (void)turns.read("save()"); }).find("[heddle.R11]") == 0);
  }
  CHECK_NOTHROW((void)turns.take("step()"));
}

TEST_CASE("nothing is read while ranks are at work") {
  CallTurns turns;
  {
    const auto turn = turns.take("step()");
    const auto work = turns.work();
    CHECK_THROWS_WITH_AS((void)turns.read("parameter()"), doctest::Contains("[heddle.R11] parameter() was called"), Error);
    CHECK_THROWS_WITH_AS((void)turns.read("on_step()", true), doctest::Contains("[heddle.R11] on_step() was called"), Error);
  }
  CHECK_NOTHROW((void)turns.read("parameter()"));
}
