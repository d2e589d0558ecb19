// SPDX-License-Identifier: MIT
#include "heddle/report/curve_svg.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "report/svg_reader.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// The places of a polyline, x and y one after the other.
std::vector<double> places(const std::string& svg, std::size_t number) {
  std::size_t at = svg.find("<polyline ");
  for (std::size_t i = 0; i < number; ++i) at = svg.find("<polyline ", at + 1);
  const std::string points = attribute(svg.substr(at, svg.find('>', at) - at), "points");
  std::vector<double> all;
  for (const char* c = points.c_str(); *c != '\0';) {
    char* end = nullptr;
    all.push_back(std::strtod(c, &end));
    c = *end == '\0' ? end : end + 1;
  }
  return all;
}
bool shows(const std::string& svg, const std::string& text) {
  for (const Words& words : words_in(svg))
    if (words.text == text) return true;
  return false;
}
std::string said(const std::vector<Curve>& curves, bool logarithmic = false) {
  try {
    (void)curve_svg(curves, {.logarithmic = logarithmic});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("points stand where their numbers say, and lower numbers lower") {
  const std::string svg = curve_svg({{"a", {{0, 4}, {5, 2}, {10, 1}}}, {"b", {{10, 3}}}}, {.title = "two curves"});
  CHECK(fault_of_svg(svg) == "");
  const auto a = places(svg, 0), b = places(svg, 1);
  REQUIRE(a.size() == 6);
  REQUIRE(b.size() == 2);
  CHECK(a[2] - a[0] == doctest::Approx(a[4] - a[2]).epsilon(0.001));
  CHECK(a[3] - a[1] == doctest::Approx(2 * (a[5] - a[3])).epsilon(0.001));  // 4 to 2 is twice as far as 2 to 1
  CHECK(b[0] == a[4]);
  CHECK(a[1] < b[1]);
  for (const char* const words : {"two curves", "a", "b", "step", "loss", "10", "4"}) {
    CAPTURE(words);
    CHECK(shows(svg, words));
  }
}

TEST_CASE("on a logarithmic axis a half is as far wherever it is") {
  const std::string svg = curve_svg({{"a", {{1, 8}, {2, 4}, {3, 2}, {4, 0.02}}}}, {.logarithmic = true});
  CHECK(fault_of_svg(svg) == "");
  const auto a = places(svg, 0);
  CHECK(a[3] - a[1] == doctest::Approx(a[5] - a[3]).epsilon(0.001));
  CHECK((a[7] - a[5]) / (a[5] - a[3]) == doctest::Approx(std::log(100) / std::log(2)).epsilon(0.001));
  CHECK(shows(svg, "loss, logarithmic"));
  CHECK(shows(svg, "0.1"));
}

TEST_CASE("curves are told apart by colour and by dashes, and have their names as titles") {
  std::vector<Curve> curves;
  for (int c = 0; c < 7; ++c) curves.push_back({"<run> & " + std::to_string(c), {{0, c}, {1, c + 1}}});
  const std::string svg = curve_svg(curves);
  CHECK(fault_of_svg(svg) == "");
  CHECK(svg.find("class=\"curve c5\"") != std::string::npos);
  CHECK(svg.find("stroke-dasharray=\"2 3\"") != std::string::npos);
  CHECK(svg.find("<title>&lt;run&gt; &amp; 6</title>") != std::string::npos);
}

TEST_CASE("words never overlap, whatever the numbers, names, sizes and curves") {
  for (const bool logarithmic : {false, true})
    for (const double width : {0.0, 400.0, 2000.0})
      for (const double scale : {1e-12, 1e-3, 1.0, 12345.0, 9e14})
        for (const int count : {1, 30}) {
          std::vector<Curve> curves;
          for (int c = 0; c < count; ++c) curves.push_back({std::string(60, 'W') + "\xE6\xB1\x89", {{0, scale}, {scale, scale * (c + 1) / count}}});
          CAPTURE(scale);
          CAPTURE(width);
          CAPTURE(count);
          CHECK(fault_of_svg(curve_svg(curves, {.title = std::string(200, 'm'), .logarithmic = logarithmic, .width = width, .height = 10})) == "");
        }
}

TEST_CASE("a single point, a level curve and negative numbers are drawn") {
  for (const Curve& curve : {Curve{"point", {{3, 3}}}, Curve{"level", {{0, 2}, {9, 2}}}, Curve{"below", {{0, -2}, {9, -1}}}}) {
    const std::string svg = curve_svg({curve});
    CAPTURE(curve.name);
    CHECK(fault_of_svg(svg) == "");
  }
}

TEST_CASE("no curve, no point, no number and nothing above 0 are one sentence each") {
  CHECK(said({}) == "[heddle.V06] no curve is given, so there is nothing to draw. Fix: give at least one.");
  CHECK(said({{"a", {}}}) == "[heddle.V06] curve 'a' has no point. Fix: leave it out, or give what was measured.");
  CHECK(said({{"a", {{0, 1}, {1, std::numeric_limits<double>::quiet_NaN()}}}}) ==
        "[heddle.V06] point 1 of curve 'a' is (1, nan). Fix: draw numbers between -1e15 and 1e15, and what came before a NaN.");
  CHECK(said({{"a", {{std::numeric_limits<double>::infinity(), 1}}}}).find("point 0 of curve 'a' is (inf, 1).") != std::string::npos);
  CHECK(said({{"a", {{0, 0}}}}, true) ==
        "[heddle.V06] point 0 of curve 'a' is (0, 0), and a logarithmic axis begins above 0. Fix: draw it on a linear one.");
  CHECK(said({{"a", {{0, 0}}}}).empty());
}
