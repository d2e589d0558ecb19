// SPDX-License-Identifier: MIT
#include "heddle/report/svg.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "report/svg_reader.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Colour = std::array<double, 3>;

/// Shares of red, green and blue light of a colour as "#0072b2".
Colour light_of(const std::string& colour) {
  Colour light;
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = static_cast<double>(std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16)) / 255;
    light[i] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return light;
}
/// Relative luminance of a colour, and the contrast of two: 1 to 21 (sources.md#contrast).
double luminance(const std::string& colour) {
  const Colour light = light_of(colour);
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
}
using Matrix = std::array<Colour, 3>;
Colour times(const Matrix& matrix, const Colour& light) {
  Colour seen{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) seen[i] += matrix[i][j] * light[j];
  return seen;
}
/// The same in CIELAB, where a distance of 2 is just seen.
Colour lab_of(const Colour& light) {
  const Matrix to_xyz{{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};
  Colour within;
  for (std::size_t i = 0; i < 3; ++i) within[i] = std::clamp(light[i], 0.0, 1.0);
  const Colour xyz = times(to_xyz, within);
  const auto root = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = root(xyz[0] / 0.95047), y = root(xyz[1]), z = root(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
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
  for (const char* const box : {"forward", "forward2", "backward", "backward2", "weight2", "send"}) CHECK(contrast(fill_of(box), "#000000") >= 4.5);
  CHECK(contrast(fill_of("weight"), "#ffffff") >= 4.5);
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

/// sources.md#colour-blindness
TEST_CASE("whoever sees no red, no green or no blue tells all kinds apart") {
  const Matrix eyes[] = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                         {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
                         {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
                         {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}};
  const char* const kinds[] = {"forward", "forward2", "backward", "backward2", "weight", "weight2", "update", "send", "collective"};
  for (const Matrix& eye : eyes)
    for (const char* const a : kinds)
      for (const char* const b : kinds) {
        if (std::string{a} == b) continue;
        const Colour x = lab_of(times(eye, light_of(fill_of(a)))), y = lab_of(times(eye, light_of(fill_of(b))));
        CAPTURE(std::string{a});
        CAPTURE(std::string{b});
        CHECK(std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]) > 11);
      }
}
