// SPDX-License-Identifier: MIT
#include "heddle/report/svg.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "report/svg_reader.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Relative luminance of a colour as "#0072b2", and the contrast of two: 1 to 21 (sources.md#contrast).
double luminance(const std::string& colour) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double part = static_cast<double>(std::stoi(colour.substr(1 + 2 * static_cast<std::size_t>(i), 2), nullptr, 16)) / 255;
    const double linear = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    sum += linear * (i == 0 ? 0.2126 : i == 1 ? 0.7152 : 0.0722);
  }
  return sum;
}
double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}
/// The fill of a class on light pages.
std::string fill_of(const std::string& style) {
  const std::string text{picture_style};
  const auto at = text.find('.' + style + "{fill:") + style.size() + 7;
  return text.substr(at, 7);
}

}  // namespace

TEST_CASE("names of any bytes are text of XML that shows them") {
  CHECK(xml_escaped("a<b> & \"c\"") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(xml_escaped("\xE6\xB1\x89") == "\xE6\xB1\x89");
  CHECK(xml_escaped(std::string_view{"a\0\x1B\n\xFF\xC0", 6}) == "a?????");
  CHECK(xml_escaped("\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD") == "??\xEF\xBF\xBD");  // U+FFFE and U+FFFF are no XML, U+FFFD is
  CHECK(xml_escaped("]]>") == "]]&gt;");
}

TEST_CASE("the reader of XML of Python takes every byte that a name may have") {
  std::string names;
  for (int byte = 0; byte < 256; ++byte) names += static_cast<char>(byte);
  for (const unsigned point : {0x80U, 0x7FFU, 0xFFFEU, 0xFFFFU, 0x2028U, 0x202EU, 0xFEFFU})
    for (const unsigned part : {0xE0U | point >> 12U, 0x80U | (point >> 6U & 0x3FU), 0x80U | (point & 0x3FU)}) names += static_cast<char>(part);
  Svg picture;
  picture.words("n", 0, 20, names);
  picture.box("forward", 0, 0, 5, 5, names);
  const std::string svg = svg_document(100, 100, names, picture.text());
  CHECK(unclosed(svg).empty());
  const std::string said = said_by_python(svg, python_reads_xml);
  if (said == "no python3")
    MESSAGE("SKIPPED: there is no python3");
  else
    CHECK(said.empty());
}

TEST_CASE("words are at least as wide as in the widest of the usual fonts, and what is too wide ends in dots") {
  // Advances of Verdana, thousandths of an em
  CHECK(width_of("m", 1000) >= 973);
  CHECK(width_of("W", 1000) >= 989);
  CHECK(width_of("%", 1000) >= 1076);
  CHECK(width_of("0123456789", 1000) >= 6360);
  CHECK(width_of("stage", 1000) >= 521 + 394 + 601 + 623 + 596);
  CHECK(width_of("\xE6\xB1\x89", 1000) >= 1000);
  CHECK(width_of("", 12) == 0);
  CHECK(fitted_words("stage 0", 12, 100) == "stage 0");
  const std::string cut = fitted_words("a stage with a long name", 12, 60);
  CHECK(cut.ends_with("..."));
  CHECK(width_of(cut, 12) <= 60);
  CHECK(fitted_words("abc", 12, 5).empty());
  CHECK(fitted_words("\xE6\xB1\x89\xE5\xAD\x97\xE5\xAD\x97", 10, 30) == "\xE6\xB1\x89...");
}

TEST_CASE("elements have places with a point, no side is negative, and a title is an element of its own") {
  Svg svg;
  svg.box("forward", 1.234, 2, -3, 4, "a < b");
  svg.words("n", 0, 1, "x", "end");
  svg.line("grid", 0, 0.5, 1, 2);
  CHECK(svg.text() ==
        "<rect class=\"forward\" x=\"1.23\" y=\"2\" width=\"0\" height=\"4\"><title>a &lt; b</title></rect>\n"
        "<text class=\"n\" x=\"0\" y=\"1\" text-anchor=\"end\">x</text>\n"
        "<line class=\"grid\" x1=\"0\" y1=\"0.5\" x2=\"1\" y2=\"2\"/>\n");
}

TEST_CASE("words in boxes and beside them can be read: their contrast is at least 4.5") {
  for (const char* const box : {"forward", "forward2", "backward", "backward2", "update", "send"}) CHECK(contrast(fill_of(box), "#000000") >= 4.5);
  CHECK(contrast(fill_of("weight"), "#ffffff") >= 4.5);
  CHECK(contrast(fill_of("weight2"), "#000000") >= 4.5);
  CHECK(contrast("#1f2328", "#ffffff") >= 4.5);
  CHECK(contrast(fill_of("dim"), "#ffffff") >= 4.5);
  CHECK(contrast("#9198a1", "#0d1117") >= 4.5);
  CHECK(contrast("#e6edf3", "#0d1117") >= 4.5);
}

TEST_CASE("forward, backward and weight part differ in lightness too, as a picture without colours needs") {
  CHECK(contrast(fill_of("forward"), fill_of("backward")) >= 1.4);
  CHECK(contrast(fill_of("backward"), fill_of("weight")) >= 1.8);
  CHECK(contrast(fill_of("forward"), fill_of("forward2")) >= 1.4);
}
