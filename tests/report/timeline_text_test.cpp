// SPDX-License-Identifier: MIT
#include "heddle/report/timeline_text.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "report/timelines.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}
std::string row_of(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text))
    if (line.starts_with(name)) return line;
  return {};
}

}  // namespace

TEST_CASE("a step is a row for each device: letters, micro-batches, what waits, idle shares and a scale") {
  const auto lines = lines_of(timeline_text(two_stages()));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "two stages (predicted): 7 s, idle 57.1 %");
  // 82 columns for 7 s: a second is 11.7 of them
  CHECK(lines[1] == "stage 0  F0----------" + std::string(47, '.') + "B0=" + std::string(20, '=') + "   57.1 %");
  CHECK(lines[2] == "stage 1  " + std::string(18, '.') + "F0---------B0======================" + std::string(29, '.') + "   57.1 %");
  CHECK(lines[3] == "      s  |0         |1          |2          |3         |4          |5          |6               idle");
  CHECK(lines[4] == "F forward, B backward, . idle; a number is that of the micro-batch");
}

TEST_CASE("what a device moves has a row of its own where it is asked for") {
  const std::string text = timeline_text(two_stages(), {.communication = true});
  const auto lines = lines_of(text);
  REQUIRE(lines.size() == 7);
  CHECK(lines[2] == "         ............S0>>>>" + std::string(35, '.') + "R0>>>>" + std::string(23, '.'));
  CHECK(text.find("S> send, R> receive, . idle") != std::string::npos);
}

TEST_CASE("each column has the span with most of it, and waits where more than half of it waits") {
  Timeline t;
  t.title = "short spans";
  t.devices = {"d"};
  for (int i = 0; i < 1000; ++i) t.spans.push_back(computed(SpanKind::forward, 0, i, i, i + 0.4));  // a column has 11 of them, and waits for 0.6
  CHECK(row_of(timeline_text(t), "d ").find('F') == std::string::npos);
  for (Span& span : t.spans) span.end.value += 0.2;
  CHECK(row_of(timeline_text(t), "d ").find('.') == row_of(timeline_text(t), "d ").find("40.0 %") + 2);
}

TEST_CASE("a number that does not fit is left out, never cut") {
  Timeline t;
  t.title = "long numbers";
  t.devices = {"d"};
  for (int i = 0; i < 28; ++i) t.spans.push_back(computed(SpanKind::forward, 0, 98 + i, 3 * i, 3 * i + 3));  // 3 columns each, and a bit
  const std::string row = row_of(timeline_text(t), "d ");
  CHECK(row.find("F98F99F--F--") != std::string::npos);
}

TEST_CASE("letters of every second chunk of a device are small, and parts of a backward have their own") {
  Timeline t = two_stages();
  t.spans[0].chunk = 2;
  t.spans[7].kind = SpanKind::backward_weight;
  t.spans[7].chunk = 0;
  const std::string text = timeline_text(t);
  CHECK(row_of(text, "stage 0").find("f0---") != std::string::npos);
  CHECK(row_of(text, "stage 0").find("W0~~~") != std::string::npos);
  CHECK(text.find("small letters every second chunk of a device") != std::string::npos);
}

TEST_CASE("any number of devices, any names and any title stay within 100 columns") {
  Timeline t = two_stages();
  for (int d = 2; d < 40; ++d) t.devices.push_back("\xE6\xB1\x89 stage with a name that is far too long, " + std::to_string(d));
  t.title = std::string(150, 'x') + " \x1B[2J";
  for (const int most : {-1, 1, 3, 40, 1000}) {
    const std::string text = timeline_text(t, {.most_devices = most});
    CHECK(is_utf8(text));
    CHECK(text.find('\x1B') == std::string::npos);
    const auto lines = lines_of(text);
    for (std::size_t i = 1; i < lines.size(); ++i) CHECK(characters_of(lines[i]) <= 100);
    CHECK((text.find("more devices, idle 100.0 % on average") != std::string::npos) == (most == 3));
  }
  CHECK(timeline_text(t, {.most_devices = 2}).find("... and 38 more devices, idle 100.0 % on average\n") != std::string::npos);
}

TEST_CASE("two timelines stand on one scale, each with its own idle share") {
  Timeline longer = two_stages();
  longer.measured = true;
  longer.devices = {"rank 0 of the run", "rank 1"};
  for (Span& span : longer.spans) span.begin.value *= 2, span.end.value *= 2;
  const auto lines = lines_of(timeline_text({two_stages(), longer}));
  REQUIRE(lines.size() == 9);
  CHECK(lines[0].find("(predicted): 7 s") != std::string::npos);
  CHECK(lines[4].find("(measured): 14 s") != std::string::npos);
  CHECK(lines[3] == lines[7]);
  CHECK(lines[5].rfind("B0=") == lines[1].rfind("B0=") * 2 - 20);  // twice as far behind the names, give or take a column
  CHECK(lines[1].find("57.1 %") != std::string::npos);
}

TEST_CASE("a unit of one's own names the ticks and the step") {
  Timeline t = two_stages();
  for (Span& span : t.spans) span.begin.value *= 0.004, span.end.value *= 0.004;
  const std::string text = timeline_text(t, {.unit = {"forwards", 0.004}});
  CHECK(text.starts_with("two stages (predicted): 7 forwards, idle 57.1 %\n"));
  CHECK(text.find("forwards  |0         |1 ") != std::string::npos);
}

TEST_CASE("nothing to write is one sentence") {
  CHECK_THROWS_WITH_AS((void)timeline_text(std::vector<Timeline>{}),
                       "[heddle.V01] no timeline is given, so there is nothing to draw. Fix: give one of a step that was simulated or observed.",
                       Error);
}

TEST_CASE("sixteen thousand devices are written in no time") {
  Timeline t;
  t.title = "many devices";
  for (int d = 0; d < 16'384; ++d) {
    t.devices.push_back("rank " + std::to_string(d));
    for (int m = 0; m < 8; ++m) t.spans.push_back(computed(SpanKind::forward, d, m, 2 * m, 2 * m + 1));
  }
  CHECK(timeline_text(t).find("... and 16368 more devices, idle 46.7 % on average\n") != std::string::npos);  // 8 of 15 s
}
