// SPDX-License-Identifier: MIT
#include "heddle/report/trace_json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/svg_reader.hpp"
#include "report/timelines.hpp"

using namespace heddle;
using namespace heddle::tests;
using nlohmann::json;

namespace {

std::vector<json> events_of(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}
double begin_of(const json& event) { return event["ts"].get<double>(); }
double end_of(const json& event) { return begin_of(event) + event["dur"].get<double>(); }

}  // namespace

TEST_CASE("each span is a complete event of its device, in microseconds, with what is known of it") {
  const json trace = json::parse(trace_json(two_stages()));
  CHECK(trace["otherData"]["title"] == "two stages");
  CHECK(trace["otherData"]["measured"] == false);
  const auto spans = events_of(trace, "X");
  REQUIRE(spans.size() == 8);
  CHECK(spans[0]["name"] == "forward 0");
  CHECK(spans[0]["pid"] == 0);
  CHECK(begin_of(spans[0]) == 0);
  CHECK(spans[0]["dur"] == 1e6);
  CHECK(spans[0]["args"]["micro-batch"] == 0);
  CHECK(spans[0]["args"]["chunk"] == 0);
  CHECK(spans[1]["name"] == "send 0");
  CHECK(spans[1]["args"]["peer"] == "stage 1");
  CHECK(spans[1]["args"]["bytes"] == 3200);
  CHECK(begin_of(spans[1]) == 1e6);
}

TEST_CASE("devices are processes with their names, and compute and communication are threads with theirs") {
  const json trace = json::parse(trace_json(two_stages()));
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const json& event : events_of(trace, "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  CHECK(processes == std::map<int, std::string>{{0, "stage 0"}, {1, "stage 1"}});
  CHECK(threads.size() == 4);
  for (const json& span : events_of(trace, "X")) {
    const bool moves = span["name"] == "send 0" || span["name"] == "receive 0";
    CHECK(threads.at({span["pid"], span["tid"]}) == (moves ? "communication" : "compute"));
  }
}

TEST_CASE("each message is a flow from inside its send into its receive, never back in time") {
  const json trace = json::parse(trace_json(two_stages()));
  const auto starts = events_of(trace, "s"), ends = events_of(trace, "f"), spans = events_of(trace, "X");
  REQUIRE(starts.size() == 2);
  REQUIRE(ends.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(starts[i]["id"] == ends[i]["id"]);
    CHECK(begin_of(starts[i]) <= begin_of(ends[i]));
    CHECK(ends[i]["bp"] == "e");
    for (const json& end : {starts[i], ends[i]}) {
      int around = 0;  // spans that a reader binds it to
      for (const json& span : spans)
        around += span["pid"] == end["pid"] && span["tid"] == end["tid"] && begin_of(span) <= begin_of(end) && begin_of(end) < end_of(span) ? 1 : 0;
      CHECK(around == 1);
    }
  }
}

TEST_CASE("memory is a counter of its device") {
  const auto counters = events_of(json::parse(trace_json(two_stages())), "C");
  REQUIRE(counters.size() == 4);
  CHECK(counters[1]["name"] == "memory");
  CHECK(counters[1]["args"]["bytes"] == 1800);
  CHECK(begin_of(counters[1]) == 1e6);
}

TEST_CASE("spans of one row never overlap, not even by the digit that rounding leaves") {
  Timeline t;
  t.title = "thirds";
  t.devices = {"d"};
  for (int i = 0; i < 300; ++i) {
    t.spans.push_back(computed(SpanKind::forward, 0, i, i / 3.0, (i + 1) / 3.0));
    t.spans.push_back(moved(SpanKind::collective, 0, -1, -1, i / 3.0, i / 3.0 + 0.9));
  }
  const json trace = json::parse(trace_json(t));
  std::map<int, std::int64_t> until;  // of each row, in nanoseconds
  for (const json& span : events_of(trace, "X")) {
    const std::int64_t begin = std::llround(begin_of(span) * 1000);
    CHECK(begin >= until[span["tid"]]);
    until[span["tid"]] = begin + std::llround(span["dur"].get<double>() * 1000);
  }
  CHECK(until.size() == 4);  // compute, and three messages at once
}

TEST_CASE("names of any bytes leave JSON that two readers take, and a name without UTF-8 is shown as far as it is") {
  Timeline t = two_stages();
  t.title.clear();
  for (int byte = 0; byte < 256; ++byte) t.title += static_cast<char>(byte);
  t.devices[0] = "<\"a\\b\n\x01>\xE6\xB1\x89";
  const std::string text = trace_json(t);
  const json trace = json::parse(text);
  CHECK(events_of(trace, "M")[0]["args"]["name"] == "<\"a\\b\n\x01>\xE6\xB1\x89");
  const std::string said = said_by_python(text, python_reads_json);
  if (said == "no python3")
    MESSAGE("SKIPPED: there is no python3");
  else
    CHECK(said.empty());
}

TEST_CASE("a timeline that cannot be drawn cannot be written") {
  Timeline t = two_stages();
  t.spans[0].begin.value = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(
      (void)trace_json(t),
      "[heddle.V02] span 0 of the timeline 'two stages' begins at a time that is infinite. Fix: count seconds from the beginning of the step.",
      Error);
}

TEST_CASE("sixteen thousand devices are sixteen thousand processes") {
  Timeline t;
  t.title = "many devices";
  for (int d = 0; d < 16'384; ++d) {
    t.devices.push_back("rank " + std::to_string(d));
    t.spans.push_back(computed(SpanKind::forward, d, 0, 0, 1));
  }
  const std::string text = trace_json(t);
  CHECK(text.find("rank 16383") != std::string::npos);
}
