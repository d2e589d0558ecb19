// SPDX-License-Identifier: MIT
#include "heddle/report/timeline_svg.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "report/svg_reader.hpp"
#include "report/timelines.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// The elements of a class, by their beginnings.
std::vector<std::string> boxes_of(const std::string& svg, const std::string& style) {
  std::vector<std::string> boxes;
  const std::string begin = "<rect class=\"" + style + "\" ";
  for (auto at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) boxes.push_back(svg.substr(at, svg.find('\n', at) - at));
  return boxes;
}
double number(const std::string& element, const char* name) { return std::strtod(attribute(element, name).c_str(), nullptr); }
bool shows(const std::string& svg, const std::string& text) {
  for (const Words& words : words_in(svg))
    if (words.text == text) return true;
  return false;
}

}  // namespace

TEST_CASE("each span is a box as long as it takes, with what it is, and the legend has the kinds that are there") {
  const std::string svg = timeline_svg(two_stages());
  CHECK(fault_of_svg(svg) == "");
  const auto forwards = boxes_of(svg, "forward"), backwards = boxes_of(svg, "backward"), sends = boxes_of(svg, "send");
  REQUIRE(forwards.size() == 3);  // 2, and the legend's
  REQUIRE(backwards.size() == 3);
  REQUIRE(sends.size() == 3);
  CHECK(boxes_of(svg, "receive").size() == 3);
  CHECK(boxes_of(svg, "collective").empty());
  const double second = number(forwards[0], "width") + 1;  // and a seam
  CHECK(number(backwards[0], "width") + 1 == doctest::Approx(2 * second).epsilon(0.001));
  CHECK(number(forwards[1], "x") - number(forwards[0], "x") == doctest::Approx(1.5 * second).epsilon(0.001));
  CHECK(number(sends[0], "y") > number(forwards[0], "y") + 20);
  CHECK(svg.find("<title>forward of micro-batch 0 on chunk 0: 1 s from 0 s on</title>") != std::string::npos);
  CHECK(svg.find("<title>send of micro-batch 0 to stage 1, 3200 bytes: 500 ms from 1 s on</title>") != std::string::npos);
  CHECK(shows(svg, "F0"));
  CHECK(shows(svg, "B0"));
  CHECK(shows(svg, "57.1 %"));
  CHECK(shows(svg, "time in s"));
  CHECK(shows(svg, "backward"));
  CHECK_FALSE(shows(svg, "collective"));
}

TEST_CASE("without communication there is none, not even in the legend") {
  const std::string svg = timeline_svg(two_stages(), {.communication = false});
  CHECK(fault_of_svg(svg) == "");
  CHECK(boxes_of(svg, "send").empty());
  CHECK(boxes_of(svg, "forward").size() == 3);
}

TEST_CASE("several timelines have one scale") {
  Timeline longer = two_stages();
  for (Span& span : longer.spans) span.begin.value *= 2, span.end.value *= 2;
  const std::string svg = timeline_svg({two_stages(), longer});
  CHECK(fault_of_svg(svg) == "");
  const auto forwards = boxes_of(svg, "forward");
  REQUIRE(forwards.size() == 5);
  CHECK(number(forwards[2], "width") + 1 == doctest::Approx(2 * (number(forwards[0], "width") + 1)).epsilon(0.001));
}

TEST_CASE("words never overlap: many devices, long names, many micro-batches, any width") {
  for (const double width : {-5.0, 400.0, 960.0, 3000.0})
    for (const int devices : {1, 7, 100})
      for (const int micro_batches : {1, 16, 200}) {
        Timeline t;
        t.title = "a plan with a title that is longer than a picture of four hundred pixels is wide, <&> \xE6\xB1\x89\xE5\xAD\x97";
        for (int d = 0; d < devices; ++d) {
          t.devices.push_back(std::string(static_cast<std::size_t>(d), 'n') + " \"stage\" <" + std::to_string(d) + ">\x01");
          for (int m = 0; m < micro_batches; ++m) {
            Span span = computed(m % 3 == 2 ? SpanKind::backward_weight : SpanKind::forward, d, m, m + d * 0.5, m + d * 0.5 + 0.9);
            span.chunk = m % 2;
            t.spans.push_back(span);
            t.spans.push_back(moved(SpanKind::collective, d, -1, -1, m + d * 0.5, m + d * 0.5 + 0.9));
          }
        }
        CAPTURE(width);
        CAPTURE(devices);
        CAPTURE(micro_batches);
        const std::string svg = timeline_svg(t, {.width = width, .most_devices = 20});
        CHECK(fault_of_svg(svg) == "");
        CHECK((svg.find("and 80 more devices, which are not drawn") != std::string::npos) == (devices == 100));
      }
}

TEST_CASE("of a heading that is too long the title is cut, and what the step takes is not") {
  Timeline t = two_stages();
  t.title = std::string(200, 'x');
  const std::string svg = timeline_svg(t);
  CHECK(fault_of_svg(svg) == "");
  CHECK(svg.find("x... (predicted): 7 s, idle 57.1 %</text>") != std::string::npos);
}

TEST_CASE("spans that no eye tells apart are one box, so that a picture stays small") {
  Timeline t;
  t.title = "many";
  t.devices = {"d"};
  for (int i = 0; i < 100'000; ++i) t.spans.push_back(computed(i % 100 < 50 ? SpanKind::forward : SpanKind::backward, 0, i, i, i + 1));
  const std::string svg = timeline_svg(t);
  CHECK(svg.size() < 1'000'000);
  CHECK(svg.find("50 times forward") != std::string::npos);
  CHECK(boxes_of(svg, "forward").size() == 1001);
}

TEST_CASE("every second chunk of a device is paler, and a weight part has slanted lines") {
  Timeline t = two_stages();
  t.spans[0].chunk = 2;
  t.spans[7].kind = SpanKind::backward_weight;
  t.spans[7].chunk = 0;
  const std::string svg = timeline_svg(t);
  CHECK(fault_of_svg(svg) == "");
  CHECK(boxes_of(svg, "forward2").size() == 2);
  CHECK(boxes_of(svg, "weight").size() == 2);
  CHECK(shows(svg, "paler: every second chunk of a device"));
  CHECK(svg.find("url(#slant)") != std::string::npos);
}

TEST_CASE("one picture is for light and dark pages") {
  const std::string svg = timeline_svg(two_stages());
  CHECK(svg.find("@media (prefers-color-scheme:dark)") != std::string::npos);
  CHECK(svg.find("style=") == std::string::npos);  // what a style sheet cannot change
}

TEST_CASE("a time that is no number makes no picture") {
  Timeline t = two_stages();
  t.spans[0].end.value = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(
      (void)timeline_svg({two_stages(), t}),
      "[heddle.V02] span 0 of the timeline 'two stages' ends at a time that is NaN. Fix: count seconds from the beginning of the step.", Error);
}
