// SPDX-License-Identifier: MIT
// Room: report. SVG 1.1 as text: boxes, lines and words with classes, names of any bytes escaped, the width of words estimated; one style
// for light and dark pages.
// Sees: report/fixed_point, core.  Does not see: every other room.
// In: places in pixels, words.  Out: elements and a document that needs no other file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/utf8.hpp"
#include "heddle/report/fixed_point.hpp"

namespace heddle::report_room {

/// Text as XML writes it: '?' for control characters, bytes that are not UTF-8 and the two code points that XML forbids.
///
/// Tested  report/svg_test
[[nodiscard]] inline std::string xml_escaped(std::string_view text) {
  std::string out;
  const std::string shown = printable(text);
  for (std::size_t at = 0; at < shown.size();) {
    const CodePoint c = code_point_at(shown, at);
    switch (c.value) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case 0xFFFE:
      case 0xFFFF: out += '?'; break;
      default: out += shown.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return out;
}

/// Pixels that words take at a size of letters: no less than in DejaVu Sans and Verdana, the widest of the usual fonts. Ten digits at 10 pixels: 64.
///
/// Tested  report/svg_test
[[nodiscard]] inline double width_of(std::string_view words, double size) {
  constexpr std::string_view narrow = " !'(),-./:;I[]fijlrt|", wide = "&+<=>DGHMNOQU_w~", widest = "%@Wm";
  double ems = 0;
  for (std::size_t at = 0; at < words.size();) {
    const CodePoint c = code_point_at(words, at);
    const auto letter = static_cast<char>(c.value);
    const auto in = [&](std::string_view some) { return c.value < 0x80 && some.find(letter) != std::string_view::npos; };
    const bool small = c.value < 0x80 && ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9'));
    ems += c.value >= 0x80 ? 1.1 : in(narrow) ? 0.46 : in(widest) ? 1.08 : in(wide) ? 0.85 : small ? 0.64 : 0.7;
    at += std::max<std::size_t>(1, c.bytes);
  }
  return ems * size;
}
/// The words, or their beginning and dots where they would be wider than `most` pixels; nothing where not even the dots fit.
[[nodiscard]] inline std::string fitted_words(std::string_view text, double size, double most) {
  std::string words = printable(text);
  if (width_of(words, size) <= most) return words;
  for (std::size_t letters = characters_of(words); letters > 0; --letters) {
    words = first_characters(words, letters - 1);
    if (width_of(words + "...", size) <= most) return words + "...";
  }
  return {};
}

[[nodiscard]] inline std::string pixels(double number) { return trimmed_point(number, 2); }

/// Elements of one layer of a picture, in the order in which they are drawn.
class Svg {
 public:
  /// `title`: what a browser shows when the pointer rests there.
  void box(std::string_view style, double x, double y, double width, double height, std::string_view title = {}, double round = 0) {
    text_ += "<rect class=\"" + std::string{style} + "\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" width=\"" + pixels(std::max(0.0, width)) +
             "\" height=\"" + pixels(std::max(0.0, height)) + '"' + (round > 0 ? " rx=\"" + pixels(round) + '"' : "") +
             (title.empty() ? "/>\n" : "><title>" + xml_escaped(title) + "</title></rect>\n");
  }
  /// `anchor`: start, middle or end of the words is at x; their letters stand on y.
  void words(std::string_view style, double x, double y, std::string_view text, std::string_view anchor = "start") {
    text_ += "<text class=\"" + std::string{style} + "\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) + '"' +
             (anchor == "start" ? "" : " text-anchor=\"" + std::string{anchor} + '"') + '>' + xml_escaped(text) + "</text>\n";
  }
  void line(std::string_view style, double x1, double y1, double x2, double y2) {
    text_ += "<line class=\"" + std::string{style} + "\" x1=\"" + pixels(x1) + "\" y1=\"" + pixels(y1) + "\" x2=\"" + pixels(x2) + "\" y2=\"" +
             pixels(y2) + "\"/>\n";
  }
  void add(std::string_view element) { text_ += element; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The colours are Okabe and Ito's. What has one has a mark, too: a stripe, a hatch, a place or a letter.
/// Source  sources.md#colours
inline constexpr std::string_view picture_style = R"svg(<style type="text/css">
text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.ground{fill:#fff}.h{font-size:14px;font-weight:bold}.n{font-size:12px}.s{font-size:11px}.dim{fill:#59636e}
.grid{stroke:#c4ccd4;stroke-width:1}.waits{fill:#f3f5f7}.hatch{stroke:#c9d1d9;stroke-width:1}
.forward{fill:#56b4e9}.forward2{fill:#b5ddf5}.backward{fill:#009e73}.backward2{fill:#7fd0b6}
.weight{fill:#00664b}.weight2{fill:#a0b860}.update{fill:#705088}
.stripe{fill:#003d2d}.slant{stroke:#9fe0c9;stroke-width:1}
.send{fill:#e69f00}.receive{fill:#fff;stroke:#e69f00;stroke-width:1}.collective{fill:#d55e00}
text.in{fill:#000}text.out{fill:#fff}
.card{fill:#f3f5f7;stroke:#8b949e;stroke-width:1}.bar{fill:#0072b2}
.curve{fill:none;stroke-width:2}.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.c3{stroke:#cc79a7}.c4{stroke:#e69f00}.c5{stroke:#56b4e9}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.ground{fill:#0d1117}.dim{fill:#9198a1}.grid{stroke:#3d444d}.waits{fill:#1c2128}.hatch{stroke:#3d444d}
.receive{fill:#0d1117}
.card{fill:#1c2128;stroke:#656c76}.bar{fill:#56b4e9}.c0{stroke:#56b4e9}.c2{stroke:#2bc59a}.c5{stroke:#f0e442}}
</style>
<defs>
<pattern id="bubble" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="waits" width="7" height="7"/><line class="hatch" x1="0" y1="0" x2="0" y2="7"/></pattern>
<pattern id="slant" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<line class="slant" x1="0" y1="0" x2="0" y2="5"/></pattern>
</defs>
)svg";

/// A document of its own: the style, a ground and the layers. `title` is what a reader that cannot see the picture is told.
///
/// Source  sources.md#svg
/// Tested  report/svg_test
[[nodiscard]] inline std::string svg_document(double width, double height, std::string_view title, std::string_view elements) {
  const std::string size = pixels(width) + "\" height=\"" + pixels(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" viewBox=\"0 0 " + pixels(width) + ' ' + pixels(height) + "\" width=\"" + size +
         "\">\n<title>" + xml_escaped(title) + "</title>\n" + std::string{picture_style} + "<rect class=\"ground\" width=\"" + size + "\"/>\n" +
         std::string{elements} + "</svg>\n";
}

}  // namespace heddle::report_room
