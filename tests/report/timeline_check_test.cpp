// SPDX-License-Identifier: MIT
#include "heddle/report/timeline_check.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "plan/plans.hpp"
#include "report/timelines.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

std::string said(const Timeline& t) {
  try {
    refuse_undrawable(t);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
/// What is said of the two stages after a change.
template <class Change> std::string after(Change change) {
  Timeline t = two_stages();
  change(t);
  return said(t);
}

using Staged = Trained<Chain, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
/// Every line that computes, one second after the other.
Timeline of_staged(int devices) {
  const Program& p = Staged::training;
  Timeline t;
  t.title = "staged";
  for (int d = 0; d < devices; ++d) t.devices.push_back("rank " + std::to_string(d));
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (!computes(line.op)) continue;
      Span span = computed(line.op == ListOp::forward ? SpanKind::forward : SpanKind::backward, r, line.micro_batch, i, i + 1);
      span.chunk = line.chunk;
      span.instruction = i;
      t.spans.push_back(span);
    }
  return t;
}
std::string said_of_plan(const Timeline& t) {
  try {
    refuse_other_plan(t, Staged::training);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a timeline that is as it should be is not refused") { CHECK(said(two_stages()).empty()); }

TEST_CASE("a timeline without spans, or whose spans take no time, has nothing to draw") {
  CHECK(
      after([](Timeline& t) { t.spans.clear(); }) ==
      "[heddle.V01] the timeline 'two stages' has 2 devices and 0 spans, so there is nothing to draw. Fix: give one of a step that was simulated or "
      "observed.");
  CHECK(
      after([](Timeline& t) {
        for (Span& span : t.spans) span.begin.value = span.end.value = 0;
      }) ==
      "[heddle.V01] the timeline 'two stages' has 2 devices and 8 spans, none of which takes any time, so there is nothing to draw. Fix: give one of "
      "a step that was simulated or observed.");
  CHECK_THROWS_AS(refuse_undrawable(std::vector<Timeline>{}), Error);
}

TEST_CASE("a time that is no number, lies before the step or beyond all years is refused with its span") {
  CHECK(after([](Timeline& t) { t.spans[3].begin.value = std::numeric_limits<double>::quiet_NaN(); }) ==
        "[heddle.V02] span 3 of the timeline 'two stages' begins at a time that is NaN. Fix: count seconds from the beginning of the step.");
  CHECK(after([](Timeline& t) { t.spans[3].end.value = std::numeric_limits<double>::infinity(); })
            .find("span 3 of the timeline 'two stages' ends at a "
                  "time that is infinite.") != std::string::npos);
  CHECK(after([](Timeline& t) { t.spans[3].begin.value = -0.5; }).find("is -0.5 s, before the step begins.") != std::string::npos);
  CHECK(after([](Timeline& t) { t.spans[3].end.value = 1e10; }).find("more than 31 years after the step began.") != std::string::npos);
}

TEST_CASE("a span that ends before it begins, and a device that is not there, are refused with their numbers") {
  CHECK(after([](Timeline& t) { t.spans[3].end.value = 1; }) ==
        "[heddle.V02] span 3 of the timeline 'two stages' ends at 1 s, before it begins at 1.5 s. Fix: let it end when it begins, or later.");
  CHECK(after([](Timeline& t) { t.spans[0].device = 2; }) ==
        "[heddle.V02] span 0 of the timeline 'two stages' is of device 2, but there are 2. Fix: name every device in Timeline::devices.");
  CHECK(after([](Timeline& t) { t.memory[0].device = -1; }).find("memory 0 of the timeline 'two stages' is of device -1") != std::string::npos);
  CHECK(after([](Timeline& t) { t.memory[0].bytes = Bytes{-5}; }).find("memory 0 of the timeline 'two stages' is -5 bytes.") != std::string::npos);
}

TEST_CASE("a flow has one send and one receive") {
  CHECK(after([](Timeline& t) { t.spans[5].flow = 0; }) ==
        "[heddle.V03] flow 0 of the timeline 'two stages' joins 2 sends, 1 receives and 0 other spans. Fix: give a send and its receive one number "
        "that "
        "nothing else has.");
  CHECK(after([](Timeline& t) { t.spans[5].flow = -1; }).find("flow 1 of the timeline 'two stages' joins 0 sends, 1 receives") != std::string::npos);
  CHECK(after([](Timeline& t) { t.spans[0].flow = 9; }).find("flow 9 of the timeline 'two stages' joins 0 sends, 0 receives and 1 other") !=
        std::string::npos);
  CHECK(after([](Timeline& t) {
          for (Span& span : t.spans) span.flow = span.flow < 0 ? -1 : span.flow + 2'000'000'000;
        }).empty());
}

TEST_CASE("names of a timeline stand in a sentence as one line") {
  CHECK(after([](Timeline& t) {
          t.title = "two\n\x1B[2J";
          t.spans.clear();
        }).find("'two??[2J'") != std::string::npos);
}

TEST_CASE("a timeline of another plan is refused, with what differs") {
  CHECK(said_of_plan(of_staged(2)).empty());
  CHECK(said_of_plan(of_staged(3)) ==
        "[heddle.V04] the timeline 'staged' is not of this plan of Chain: it has 3 devices, the plan 2 in 2 roles. Fix: draw it with its own plan.");
  Timeline t = of_staged(2);
  t.spans[0].kind = SpanKind::backward;
  const std::string line = std::to_string(t.spans[0].instruction);
  CHECK(said_of_plan(t).find("span 0 says 'backward' of line " + line + ", which is not what stands there.") != std::string::npos);
  t = of_staged(2);
  t.spans[0].instruction = 100'000;
  CHECK(said_of_plan(t).find("span 0 says 'forward' of line 100000") != std::string::npos);
  t = of_staged(2);
  t.spans[1].micro_batch = 7;
  CHECK(said_of_plan(t).find("span 1 is of chunk 0 and micro-batch 7, line ") != std::string::npos);
  t = of_staged(2);
  t.spans[0].device = 1;  // a line of another role
  CHECK(said_of_plan(t).find("[heddle.V04]") == 0);
}
